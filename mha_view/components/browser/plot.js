// A Plotly figure that keeps its place: one node, Plotly.react, a pick that comes back.

import { NARROW, arrange, cellAt, describe, frame, matrixOf, moved, outline } from "./cells.js";
import { element, plain } from "./dom.js";
import { addFrames, framed } from "./frames.js";
import { loadPlotly, loadStyles } from "./load.js";
import { unpack } from "./packet.js";
import { enlarge, onRoom, room } from "./room.js";
import { readTheme, resolveColours, template } from "./theme.js";
import { rectangle, spotMarks } from "./spot.js";
import { fitLabels, fitNarrow, placeTiles, thinLabels } from "./tiles.js";
import { addToolbar } from "./toolbar.js";
import { drawAside } from "./aside.js";

await loadStyles("plot.css");

const ROUND_TILES = 140; // pixels above and below tiles that are presented, until they are drawn
const SEND_AFTER = 120; // milliseconds without a further key before a pick goes to the server
const views = new WeakMap();

/** Called by Streamlit with each new packet, and when the theme changes. */
export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new PlotView(parent);
  views.set(parent, view);
  await view.update(component);
  return () => {
    view.remove();
    views.delete(parent);
  };
}

class PlotView {
  constructor(parent) {
    this.root = element("figure", "th-plot");
    this.canvas = element("div", "th-canvas");
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("blur", () => (this.tip.hidden = true));
    this.tip = element("div", "th-tip");
    this.tip.hidden = true;
    this.live = element("div", "th-live");
    this.live.setAttribute("aria-live", "polite");
    this.root.append(this.canvas, this.tip, this.live);
    this.root.view = this; // for the page that saves every figure on it
    parent.append(this.root);
    this.resizer = new ResizeObserver(() => this.resize());
    this.resizer.observe(this.root);
    this.endRoom = onRoom(() => this.resize());
    this.turn = 0;
    this.draws = 0;
    this.isWaiting = undefined; // to be seen, with all that a drawing needs; not known before Plotly is here
    this.picked = null;
    this.matrices = [];
    this.around = ROUND_TILES;
  }

  async update(component) {
    this.component = component;
    const isNew = component.data !== this.packet;
    if (isNew) {
      this.packet = component.data;
      this.header = unpack(component.data);
    }
    const { header } = this;
    // An answer to an earlier pick than the newest one must not take the mark back.
    if (isNew && header.turn >= this.turn) {
      this.turn = header.turn;
      this.picked = header.selected;
    }
    this.name();
    // A reader may be here before Plotly is: a key that is pressed meanwhile counts.
    if (!this.built && this.root.clientWidth) this.offer(this.build(readTheme(this.root), this.width).matrices);
    try {
      this.plotly = await loadPlotly(header.addresses.plotly);
    } catch (error) {
      this.sayMissing(error);
      return;
    }
    if (header === this.header) this.show();
  }

  /** Draws the figure, or once it is seen: one in a tab that is not open would be drawn twice. */
  show() {
    this.isWaiting = !this.root.clientWidth;
    if (this.isWaiting) delete this.root.dataset.drawn;
    else this.draw();
  }

  /** Puts the words on the parts that have them. */
  name() {
    const { alt, words } = this.header;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", alt);
    this.root.dataset.figure = this.header.export?.name ?? "";
    addToolbar(this);
    addFrames(this, words);
  }

  get width() {
    return Math.round(this.root.clientWidth) || 640;
  }

  /** Pixels for the figure where it is presented, its range input aside; null on a page. */
  get tall() {
    const whole = room();
    return whole && Math.max(240, whole - (this.root.querySelector(".th-frames")?.offsetHeight ?? 0));
  }

  draw() {
    const theme = readTheme(this.root);
    const { width } = this;
    const stamp = JSON.stringify([this.header.digest, width, theme, this.inset, this.tall]);
    if (stamp === this.stamp) this.remark();
    else this.redraw(theme, width);
    this.stamp = JSON.stringify([this.header.digest, width, theme, this.inset, this.tall]);
    this.redrawTable?.();
    this.isWaiting = false;
    this.draws += 1;
    this.root.dataset.drawn = this.draws;
  }

  redraw(theme, width) {
    const built = this.build(theme, width);
    this.built = { ...built, width, tall: this.tall };
    this.root.style.setProperty("--wide", width); // for paper
    this.root.style.setProperty("--high", built.layout.height);
    this.offer(built.matrices);
    const marks = this.marks();
    this.marked = JSON.stringify(marks);
    const layout = { ...built.layout, shapes: [...built.layout.shapes, ...marks] };
    this.missing?.remove();
    this.plotly.react(this.canvas, built.data, layout, built.config);
    if (!this.isListening) this.listen();
    this.isDrawn = true;
    if (built.hasTiles && this.learnInset(this.built)) this.redraw(theme, width);
    else this.remark();
    this.keepFrame?.();
  }

  /** Lets a reader pick a cell by keyboard. */
  offer(matrices) {
    this.matrices = matrices;
    if (matrices.length) this.canvas.tabIndex = 0;
    else this.canvas.removeAttribute("tabindex");
    if (matrices.length && this.header.words.keys) {
      this.canvas.setAttribute("aria-description", this.header.words.keys);
    }
  }

  /** Moves the outlines, which costs a fraction of drawing anew. */
  remark() {
    if (!this.built) return;
    const marks = this.marks();
    if (JSON.stringify(marks) === this.marked) return;
    this.marked = JSON.stringify(marks);
    this.plotly.relayout(this.canvas, { shapes: [...this.built.layout.shapes, ...marks] });
  }

  /** What the labels take from the width is known only after drawing; true if it is news.
   *  Learned once for a width and a grid: later redraws must not move what a reader zoomed. */
  learnInset({ width, tall, revision }) {
    const room = `${width} ${tall}`;
    if (this.learned?.room !== room) this.learned = { room, grids: new Set() };
    if (this.learned.grids.has(revision)) return false;
    this.learned.grids.add(revision);
    const { width: wide, height, _size: inner } = this.canvas._fullLayout;
    const [inset, around] = [wide - inner.w, height - inner.h];
    const isNews = Math.abs(inset - (this.inset ?? -1)) > 3 || (tall && Math.abs(around - this.around) > 3);
    this.inset = inset;
    if (tall) this.around = around;
    return isNews;
  }

  /** What was asked for; on a phone a lower picture may do. */
  height() {
    const { height, low } = this.header;
    return matchMedia("(max-width: 640px)").matches ? low ?? height : height;
  }

  /** The figure as Plotly takes it, for this theme and width: as on the page, or where `aside` is
   *  given, with so many tiles side by side, letters up to a size, and an inset of its own. */
  build(theme, width, aside) {
    const tall = aside ? null : this.tall;
    const fit = tall ? enlarge : (part) => part;
    const figure = resolveColours(this.header.figure, theme);
    const base = fit(template(theme));
    const letter = base.layout.font.size;
    const margin = { ...base.layout.margin, ...figure.layout?.margin };
    const across = width - (aside ? aside.inset : this.inset ?? margin.l + margin.r);
    const traces = (figure.data ?? []).map((trace) => fit(trace));
    const parts = traces.map((trace, index) =>
      arrange(trace, index, across, letter, tall && tall - this.around, aside?.columns));
    const tiles = parts.find((part) => part.layout.grid)?.layout;
    const layout = {
      template: base, uirevision: "keep", hovermode: "closest", autosize: false,
      ...fit(figure.layout ?? {}), shapes: [...(figure.layout?.shapes ?? [])], width, margin,
      height: tall ?? this.height() ?? figure.layout?.height ?? 360,
    };
    if (!tiles && parts.some((part) => part.matrices.length)) layout.plot_bgcolor ??= theme.empty;
    if (!tiles && width < NARROW) {
      fitNarrow(layout);
      // Words in cells that are narrower than they are: the tip and the table say them.
      for (const part of parts) if (part.matrices.length) part.trace = { ...part.trace, texttemplate: undefined };
    }
    if (!tiles && tall) thinLabels(layout, parts);
    else if (!tiles) fitLabels(layout, width < NARROW);
    if (aside) nameAxes(layout, this.header.export?.about?.axes);
    layout.dragmode ??= matchMedia("(pointer: coarse)").matches ? false : "zoom";
    if (tiles) {
      const labels = parts.find((part) => part.layout.grid).trace.meta;
      const size = tall ? { letter, tall, around: this.around } : aside ? { most: aside.letter } : {};
      placeTiles(layout, tiles, tall || aside ? null : this.height(), { ...figure.layout?.meta, ...labels }, theme, across, size);
    }
    return {
      theme,
      data: parts.map((part) => plain(part.trace)),
      layout: plain(layout),
      matrices: parts.flatMap((part) => part.matrices),
      hasTiles: Boolean(tiles),
      revision: layout.uirevision,
      config: {
        displayModeBar: false, doubleClick: "reset", showTips: false, displaylogo: false,
        plotGlPixelRatio: 2, ...figure.config, responsive: false,
      },
    };
  }

  /** The token and the head that the page is about, and the outline of the picked cell. */
  marks({ theme, matrices } = this.built) {
    const spots = this.header.spot ? spotMarks(matrices, this.header.spot, theme) : [];
    return [...spots, ...this.pickMarks(theme, matrices)];
  }

  /** The outline of the picked cell, and of its matrix where there are several. */
  pickMarks(theme, matrices) {
    const matrix = matrixOf(matrices, this.picked);
    if (!matrix) return [];
    const at = (place, line) => rectangle(matrix, place, { line });
    const cell = outline(matrix, this.picked, this.pixelsPerUnit(matrix));
    const marks = [at(cell, { color: theme.paper, width: 4 }), at(cell, { color: theme.text, width: 2 })];
    if (matrices.length > 1) {
      marks.unshift(at(frame(matrix), { color: theme.accent, width: 1.5 }));
    }
    return marks;
  }

  pixelsPerUnit(matrix) {
    if (!this.isDrawn) return { x: Infinity, y: Infinity };
    const scale = (axis) => {
      const found = this.canvas._fullLayout?.[axis.replace(/^([xy])/, "$1axis")];
      return found?._length ? found._length / Math.abs(found.range[1] - found.range[0]) : Infinity;
    };
    return { x: scale(matrix.xaxis), y: scale(matrix.yaxis) };
  }

  listen() {
    this.isListening = true;
    this.canvas.on("plotly_click", (event) => {
      const cell = cellAt(this.matrices, event.points[0]);
      if (cell) this.pick(cell, 0);
    });
    this.canvas.on("plotly_hover", (event) => this.showTip(event));
    this.canvas.on("plotly_unhover", () => (this.tip.hidden = true));
  }

  press(event) {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape" && !this.picked) return;
    const cell = event.key === "Escape" ? null : moved(this.matrices, this.picked, event.key);
    if (cell === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.pick(cell, SEND_AFTER);
  }

  /** Marks a cell at once, says it, and tells the server, at the latest after `delay` ms. */
  pick(cell, delay) {
    this.picked = cell;
    this.turn += 1;
    this.remark();
    this.live.textContent = this.say(cell) ?? this.header.words.cleared ?? "";
    this.redrawTable?.();
    const { turn } = this;
    clearTimeout(this.sending);
    const send = () => this.component.setStateValue("picked", { cell, turn });
    if (delay) this.sending = setTimeout(send, delay);
    else send();
  }

  say(cell) {
    const matrix = matrixOf(this.matrices, cell);
    return matrix && describe(matrix, cell, this.header.words, this.header.figure.layout?.meta);
  }

  showTip({ points, event }) {
    const cell = cellAt(this.matrices, points[0]);
    const text = cell && this.say(cell);
    this.tip.hidden = !text;
    if (!text || !event) return;
    this.tip.textContent = text;
    const box = this.root.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth - 4);
    this.tip.style.transform =
      `translate(${Math.max(0, left)}px, ${event.clientY - box.top - this.tip.offsetHeight - 10}px)`;
  }

  resize() {
    const width = Math.round(this.root.clientWidth);
    const isAsDrawn = width === this.built?.width && this.tall === this.built.tall;
    if (this.isWaiting === undefined || !width || (isAsDrawn && !this.isWaiting)) return;
    cancelAnimationFrame(this.resizing);
    if (this.isWaiting) this.draw(); // before an older picture is seen in its place
    else this.resizing = requestAnimationFrame(() => this.draw());
  }

  sayMissing(error) {
    console.warn("Plotly could not be loaded:", error);
    const { words } = this.header;
    this.missing?.remove();
    this.missing = element("div", "th-missing");
    this.missing.setAttribute("role", "alert");
    this.missing.append(words.script_missing ?? "");
    const retry = element("button", "th-button");
    retry.textContent = words.script_retry ?? "↻";
    retry.addEventListener("click", () => this.update(this.component));
    this.missing.append(retry);
    this.root.prepend(this.missing);
  }

  /** The figure anew for a room, as an SVG element with its size. */
  drawing(room) {
    if (this.isWaiting) this.draw();
    return drawAside(this, room);
  }

  get remarks() {
    return this.header.export?.about?.remarks ?? [];
  }

  /** The figure as it is shown now: the frame it stands at, the ranges a reader zoomed to. */
  current(built) {
    const { data, layout } = this.frames ? framed(this, built) : built;
    const shown = built.hasTiles ? {} : this.canvas._fullLayout;
    const axes = Object.fromEntries(
      Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name) && shown[name]).map((name) =>
        [name, { ...layout[name], autorange: false, range: [...shown[name].range] }]));
    return { data, layout: { ...layout, ...axes, shapes: [...layout.shapes, ...this.marks(built)] } };
  }

  /** The figure as on the page, drawn, with its matrices and where they lie. */
  async saved() {
    if (this.isWaiting) this.draw();
    const { svg, width, height, places } = await drawAside(this, null);
    return { svg, width, height, matrices: this.portable(places) };
  }

  /** The matrices as plain values, each with its own numbers. */
  portable(places) {
    const shared = this.header.figure.layout?.meta ?? {};
    return this.matrices.map(({ valueAt, x, y, ...matrix }) => ({
      ...matrix,
      place: places[matrix.xaxis + matrix.yaxis],
      at: { x: [x(matrix.left), x(1) - x(0)], y: [y(matrix.top), y(1) - y(0)] },
      rows: matrix.rows ?? shared.rows,
      columns: matrix.columns ?? shared.columns,
      hover: matrix.hover ?? shared.hover,
      values: Float32Array.from({ length: matrix.height * matrix.breadth }, (_, place) =>
        valueAt(Math.floor(place / matrix.breadth), place % matrix.breadth)),
    }));
  }

  /** What the table shows where nothing can be picked: one sheet a trace, a row a point. */
  sheets() {
    return (this.built?.data ?? []).flatMap((trace, index) => {
      const columns = ["x", "y", "z"].filter((name) => trace[name]?.length && !trace[name][0]?.length);
      if (!columns.length) return [];
      const length = Math.max(...columns.map((name) => trace[name].length));
      return [{
        title: trace.name ?? String(index),
        rows: Array.from({ length }, (_, row) => String(trace.text?.[row] ?? row)),
        columns,
        at: (row, column) => trace[columns[column]][row],
      }];
    });
  }

  remove() {
    clearTimeout(this.sending);
    this.resizer.disconnect();
    this.endRoom();
    if (this.isListening) this.plotly.purge(this.canvas);
    this.root.remove();
  }
}

/** Words for axes that need none on the page. */
function nameAxes(layout, words = {}) {
  for (const [axis, text] of Object.entries(words)) {
    if (!layout[axis]?.title?.text) layout[axis] = { ...layout[axis], title: { standoff: 8, ...layout[axis]?.title, text } };
  }
}
