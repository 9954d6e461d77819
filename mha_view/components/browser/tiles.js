// How a grid of tiles is set: axes, labels, titles, backgrounds, colour bar.

import { tileCorner } from "./cells.js";
import { LETTER, thin } from "./room.js";

const APART = 4; // pixels between two labels that stand side by side
const SMALLEST_UPRIGHT = 11; // letters are made no smaller than this to stand upright
const SMALLEST_TURNED = 9; // nor than this when turned
const BAR = 220; // pixels; the colour bar's length where there is room
const BAR_ROOM = 14; // pixels beside it, where half of its last number stands

/** Axes, height, backgrounds, titles and colour bar for a grid of tiles. */
export function placeTiles(
  layout, { cells, titles, grid }, height, labels, theme, room, { letter = 0, tall = 0, around = 0, most = 12 } = {},
) {
  if (!letter) layBarAbove(layout); // presented, it is the height that is wanting
  const { margin } = layout;
  const pixels = height ? (height - margin.t - margin.b) / cells.high : grid.cell;
  const cell = Math.min(grid.cell, letter ? (tall - around) / cells.high : pixels);
  const hasLabels = (letter || cell >= 13) && labels.rows;
  // Plotly makes room for the labels itself; the height allows for them so that cells stay square.
  const below = letter ? around : margin.t + margin.b + (hasLabels ? 40 : 0);
  layout.height = height ?? Math.round(cells.high * cell + below);
  layout.uirevision = `${layout.uirevision} ${cells.wide} ${cells.high}`;
  const bare = { showgrid: false, zeroline: false, showticklabels: false, ticks: "" };
  // Left-aligned square cells: what the grid does not fill stays empty at the right; presented, on
  // both sides, so that the axis is named in the middle of the tiles.
  const free = Math.max(0, 1 - (cells.wide * cell) / room);
  const across = letter ? { domain: [free / 2, 1 - free / 2] } : {};
  const end = letter ? cells.wide : Math.max(cells.wide, room / cell);
  layout.xaxis = { ...bare, ...across, range: [-0.5, end - 0.5], ...layout.xaxis };
  if (letter && hasBar(layout)) layout.coloraxis = besideTiles(layout.coloraxis, 1 - free / 2);
  layout.yaxis = {
    ...bare, scaleanchor: "x", constrain: "domain", constraintoward: "top",
    range: [cells.high - 0.5, -0.5], ...layout.yaxis,
  };
  if (hasLabels) labelTiles(layout, grid, labels, cell, letter, most);
  layout.annotations = [...(layout.annotations ?? [])];
  for (let place = 0; place < grid.count; place += 1) {
    const { top, left } = tileCorner(grid, place);
    layout.shapes.push({
      type: "rect", layer: "below", fillcolor: theme.empty, line: { width: 0 },
      x0: left - 0.5, x1: left + grid.breadth - 0.5, y0: top - 0.5, y1: top + grid.height - 0.5,
    });
    if (titles[place]) {
      layout.annotations.push({
        x: left - 0.5, y: top - 0.5, text: titles[place], showarrow: false,
        xanchor: "left", yanchor: "bottom", align: "left", xshift: 1,
      });
    }
  }
}

/** A narrow plain figure keeps its width for itself: the bar lies above. */
export function fitNarrow(layout) {
  if (!hasBar(layout)) return;
  const above = Math.max(62, 54 + layout.margin.t);
  layBarAbove(layout);
  const { colorbar } = layout.coloraxis;
  Object.assign(colorbar, {
    xref: "container", xpad: BAR_ROOM, len: Math.min(BAR, layout.width - 2 * BAR_ROOM),
    title: { ...colorbar.title, side: "top" },
  });
  layout.margin.t = above;
}

/** Labels under a plain figure: level where they fit, else turned and no larger than a column;
 *  where columns are narrower than letters, every second one has a label, or none. */
export function fitLabels(layout, isNarrow) {
  const axis = layout.xaxis;
  if (!axis?.ticktext?.length || axis.showticklabels === false) return;
  if (!isNarrow && axis.tickangle === undefined) return; // Plotly finds the angle
  const { tickvals, ticktext } = axis;
  const column = plotWidth(layout) / (tickvals.at(-1) - tickvals[0] + 1);
  const letter = axis.tickfont?.size ?? 12;
  const level = levelSize(axis, column, letter, fontOf(layout));
  if (level) {
    layout.xaxis = { ...axis, tickangle: 0, tickfont: { ...axis.tickfont, size: level } };
    return;
  }
  if (!isNarrow) return;
  const step = column < SMALLEST_TURNED ? 2 : 1;
  const size = Math.min(letter, Math.floor(column * step));
  const isShown = (_, index) => index % step === 0;
  layout.xaxis = {
    ...axis, tickangle: -90, tickfont: { ...axis.tickfont, size }, showticklabels: size >= SMALLEST_TURNED,
    tickvals: tickvals.filter(isShown), ticktext: ticktext.filter(isShown),
  };
}

/** A presented figure's labels: as large as they are, and as many as there is room for. */
export function thinLabels(layout, parts) {
  const { width, height, margin } = layout;
  const long = Math.max(...["xaxis", "yaxis"].map((name) => layout[name]?.tickvals?.length ?? 0));
  if (!long || !parts.some((part) => part.matrices.length)) return;
  for (const [name, pixels] of [["xaxis", plotWidth(layout)], ["yaxis", height - margin.t - margin.b - 110]]) {
    const axis = layout[name];
    if (!axis?.tickvals?.length) continue;
    const span = Math.max(...axis.tickvals) - Math.min(...axis.tickvals) + 1;
    layout[name] = thin(axis, pixels / span);
  }
}

/** The letters' size at which labels stand side by side `column` pixels apart; 0 if at none. */
function levelSize({ tickvals, ticktext }, column, letter, font, least = SMALLEST_UPRIGHT) {
  for (let size = letter; size >= Math.min(letter, least); size -= 1) {
    const widths = ticktext.map((text) => textWidth(text, size, font));
    const fits = (width, index) =>
      !index || (width + widths[index - 1]) / 2 + APART <= column * (tickvals[index] - tickvals[index - 1]);
    if (widths.every(fits)) return size;
  }
  return 0;
}

/** About how wide the axes will be: what the labels and the title at the left leave. */
function plotWidth({ width, margin, yaxis, ...layout }) {
  const size = yaxis?.tickfont?.size ?? 12;
  const texts = yaxis?.showticklabels === false ? [""] : yaxis?.ticktext ?? ["−0.00"];
  const widest = Math.max(...texts.map((text) => textWidth(text, size, fontOf(layout))));
  const labels = widest ? widest + 8 : 0;
  const title = yaxis?.title?.text ? 24 : 0;
  return width - margin.r - Math.max(margin.l, labels + title);
}

function fontOf({ template }) {
  return template.layout.font.family;
}

/** A label's width in pixels as Plotly prints it, its longest line's if it has several. */
function textWidth(text, size, font) {
  const pen = textWidth.pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${size}px ${font}`;
  const lines = text.replace(/&\w+;/g, "<").split("<br>");
  return Math.max(...lines.map((line) => pen.measureText(line).width));
}

function hasBar({ coloraxis }) {
  return coloraxis && coloraxis.showscale !== false;
}

/** The colour bar stands at the right of the grid. */
function besideTiles(coloraxis, x) {
  return { ...coloraxis, colorbar: { ...coloraxis.colorbar, x, xanchor: "left", xpad: 24, len: 0.9 } };
}

/** The colour bar lies over the grid, where it takes no width from it. */
function layBarAbove(layout) {
  if (!hasBar(layout)) return;
  const { colorbar } = layout.coloraxis;
  layout.coloraxis = {
    ...layout.coloraxis,
    colorbar: {
      ...colorbar, orientation: "h", lenmode: "pixels", len: BAR, thickness: 8,
      x: 0, xanchor: "left", xpad: 0, yref: "container", y: 1, yanchor: "top", ypad: 4,
      title: { ...colorbar?.title, side: "right" },
    },
  };
  layout.margin = { ...layout.margin, t: 44 };
}

/** Tokens beside the first column of tiles and under the last row, where letters fit. */
function labelTiles(layout, grid, { rows, columns }, cell, letter, most) {
  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  // Presented, every second label of a tile is left out where all would lie on one another.
  const stepOf = (share) => (letter ? Math.max(1, Math.ceil((share * LETTER) / cell)) : 1);
  const along = (count, labels, start, step) =>
    Array.from({ length: count }, (_, index) => [start + index, escape(labels[index] ?? "")])
      .filter((_, index) => index % step === 0);
  const down = Array.from({ length: grid.rows }, (_, row) =>
    along(grid.height, rows, tileCorner(grid, row * grid.columns).top, stepOf(1.3))).flat();
  // A place without a tile has no labels under it.
  const last = grid.count - (grid.rows - 1) * grid.columns;
  const across = Array.from({ length: last }, (_, column) =>
    along(grid.breadth, columns ?? rows, tileCorner(grid, column).left, stepOf(1.6))).flat();
  const show = (pairs) => ({
    showticklabels: true, tickvals: pairs.map(([at]) => at), ticktext: pairs.map(([, text]) => text),
    tickfont: { size: letter ? LETTER : Math.min(most, Math.round(cell * 0.8)) },
  });
  layout.yaxis = { ...show(down), ...layout.yaxis, showticklabels: true };
  const below = show(across);
  const level = levelSize(below, cell, below.tickfont.size, fontOf(layout), letter ? LETTER : undefined);
  if (level) below.tickfont.size = level;
  layout.xaxis = { ...below, tickangle: level ? 0 : -60, ...layout.xaxis, showticklabels: true };
}
