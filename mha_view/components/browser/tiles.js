// How a grid of tiles is set: axes, labels, titles, backgrounds, colour bar.

import { tileCorner } from "./cells.js";

const MOST_SLANTED = 12; // more labels than these overlap on a phone unless they stand upright

/** Axes, height, backgrounds, titles and colour bar for a grid of tiles. */
export function placeTiles(layout, { cells, titles, grid }, height, labels, theme, room) {
  layBarAbove(layout);
  const { margin } = layout;
  const pixels = height ? (height - margin.t - margin.b) / cells.high : grid.cell;
  const cell = Math.min(grid.cell, pixels);
  const hasLabels = cell >= 13 && labels.rows;
  // Plotly makes room for the labels itself; the height allows for them so that cells stay square.
  const below = margin.b + (hasLabels ? 40 : 0);
  layout.height = height ?? Math.round(cells.high * cell + margin.t + below);
  layout.uirevision = `${layout.uirevision} ${cells.wide} ${cells.high}`;
  const bare = { showgrid: false, zeroline: false, showticklabels: false, ticks: "" };
  // Left-aligned square cells: what the grid does not fill stays empty at the right.
  layout.xaxis = { ...bare, range: [-0.5, Math.max(cells.wide, room / cell) - 0.5], ...layout.xaxis };
  layout.yaxis = {
    ...bare, scaleanchor: "x", constrain: "domain", constraintoward: "top",
    range: [cells.high - 0.5, -0.5], ...layout.yaxis,
  };
  if (hasLabels) labelTiles(layout, grid, labels, cell);
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

/** On a phone a plain figure keeps its width for itself: the bar above, many labels upright. */
export function fitNarrow(layout) {
  layBarAbove(layout);
  if (layout.coloraxis) {
    const { colorbar } = layout.coloraxis;
    Object.assign(colorbar, { xref: "container", title: { ...colorbar.title, side: "top" } });
    layout.margin.t = 62;
  }
  const axis = layout.xaxis;
  if (axis?.tickvals?.length > MOST_SLANTED) layout.xaxis = { ...axis, tickangle: -90 };
}

/** The colour bar lies over the grid, where it takes no width from it. */
function layBarAbove(layout) {
  if (!layout.coloraxis) return;
  const { colorbar } = layout.coloraxis;
  layout.coloraxis = {
    ...layout.coloraxis,
    colorbar: {
      ...colorbar, orientation: "h", lenmode: "pixels", len: 220, thickness: 8,
      x: 0, xanchor: "left", xpad: 0, yref: "container", y: 1, yanchor: "top", ypad: 4,
      title: { ...colorbar?.title, side: "right" },
    },
  };
  layout.margin = { ...layout.margin, t: 44 };
}

/** Tokens beside the first column of tiles and under the last row, where letters fit. */
function labelTiles(layout, grid, { rows, columns }, cell) {
  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const along = (count, labels, start) =>
    Array.from({ length: count }, (_, index) => [start + index, escape(labels[index] ?? "")]);
  const down = Array.from({ length: grid.rows }, (_, row) =>
    along(grid.height, rows, tileCorner(grid, row * grid.columns).top)).flat();
  const across = Array.from({ length: grid.columns }, (_, column) =>
    along(grid.breadth, columns ?? rows, tileCorner(grid, column).left)).flat();
  const show = (pairs) => ({
    showticklabels: true, tickvals: pairs.map(([at]) => at), ticktext: pairs.map(([, text]) => text),
    tickfont: { size: Math.min(12, Math.round(cell * 0.8)) },
  });
  layout.yaxis = { ...show(down), ...layout.yaxis, showticklabels: true };
  layout.xaxis = { ...show(across), tickangle: -60, ...layout.xaxis, showticklabels: true };
}
