// Every head of a large model as a small picture: one canvas, one click.

import { element } from "./dom.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";
import { readTheme } from "./theme.js";

await loadStyles("plot.css", "wall.css");

const NARROW = 640; // pixels; below it layers lie in rows
const GAP = 3; // pixels between two pictures
const LABELS = 26; // pixels for the numbers of rows, and of columns
const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new WallView(parent);
  views.set(parent, view);
  view.update(component);
  return () => {
    view.remove();
    views.delete(parent);
  };
}

class WallView {
  constructor(parent) {
    this.root = element("div", "th-wall");
    this.canvas = element("canvas", "th-wall-canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.tip = element("div", "th-tip");
    this.tip.hidden = true;
    this.live = element("div", "th-live");
    this.live.setAttribute("aria-live", "polite");
    this.root.append(this.canvas, this.tip, this.live);
    parent.append(this.root);
    this.turn = 0;
    this.listen();
    this.resizer = new ResizeObserver(() => this.header && this.paint());
    this.resizer.observe(this.root);
  }

  update(component) {
    this.component = component;
    if (component.data !== this.packet) {
      this.packet = component.data;
      this.header = unpack(component.data);
      this.cursor = null;
      this.pictures = null;
    }
    this.canvas.setAttribute("aria-label", this.header.label);
    this.canvas.setAttribute("aria-description", this.header.words.keys ?? "");
    this.paint();
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
  }

  /** All small pictures as one image, in the order in which they travel. */
  image() {
    if (this.pictures) return this.pictures;
    const { pictures, size, colours } = this.header;
    const table = ramp(colours);
    const sheet = element("canvas", "");
    const count = pictures.shape[0] * pictures.shape[1];
    [sheet.width, sheet.height] = [size, size * count];
    const pen = sheet.getContext("2d");
    const pixels = pen.createImageData(size, size * count);
    pictures.values.forEach((value, place) => pixels.data.set(table[value], place * 4));
    pen.putImageData(pixels, 0, 0);
    return (this.pictures = sheet);
  }

  get isNarrow() {
    return this.root.clientWidth < NARROW;
  }

  /** How many pictures lie side by side, and how large each is. */
  get grid() {
    const { n_heads: heads, most } = this.header;
    const across = this.isNarrow ? most : heads.length;
    const down = this.isNarrow ? heads.length : most;
    const room = this.root.clientWidth - LABELS;
    const side = Math.max(6, Math.min(48, Math.floor(room / across) - GAP));
    return { across, down, side };
  }

  corner(layer, head) {
    const { side } = this.grid;
    const [column, row] = this.isNarrow ? [head, layer] : [layer, head];
    return [LABELS + column * (side + GAP), LABELS + row * (side + GAP)];
  }

  paint() {
    const { n_heads: heads, most, size, chosen, lit, words } = this.header;
    const { across, down, side } = this.grid;
    const [width, height] = [LABELS + across * (side + GAP), LABELS + down * (side + GAP)];
    const dense = window.devicePixelRatio || 1;
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    [this.canvas.width, this.canvas.height] = [width * dense, height * dense];
    const pen = this.canvas.getContext("2d");
    const theme = readTheme(this.root);
    pen.scale(dense, dense);
    pen.imageSmoothingEnabled = side < size;
    const sheet = this.image();
    const standsOut = new Set(lit);
    let place = 0;
    heads.forEach((count, layer) => {
      for (let head = 0; head < count; head += 1, place += 1) {
        const [left, top] = this.corner(layer, head);
        pen.globalAlpha = !lit.length || standsOut.has(place) ? 1 : 0.25;
        pen.drawImage(sheet, 0, (layer * most + head) * size, size, size, left, top, side, side);
      }
    });
    pen.globalAlpha = 1;
    pen.fillStyle = theme.text;
    pen.font = `12px ${theme.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const [columns, rows] = this.isNarrow ? [words.head, words.layer] : [words.layer, words.head];
    const step = side + GAP < 20 ? 2 : 1;
    for (let column = 0; column < across; column += step) {
      pen.fillText(String(column), LABELS + column * (side + GAP) + side / 2, 15);
    }
    for (let row = 0; row < down; row += 1) {
      pen.fillText(String(row), 13, LABELS + row * (side + GAP) + side / 2);
    }
    this.canvas.title = "";
    this.axes = [columns, rows];
    this.outline(pen, theme.accent, chosen, 2.5);
    if (this.cursor && document.activeElement === this.canvas) this.outline(pen, theme.text, this.cursor, 1.5);
  }

  outline(pen, colour, [layer, head], thick) {
    const { side } = this.grid;
    const [left, top] = this.corner(layer, head);
    pen.strokeStyle = colour;
    pen.lineWidth = thick;
    pen.strokeRect(left - 1, top - 1, side + 2, side + 2);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.point(this.headAt(event)));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("click", (event) => this.choose(this.headAt(event)));
    canvas.addEventListener("keydown", (event) => this.press(event));
    for (const way of ["focus", "blur"]) canvas.addEventListener(way, () => this.header && this.paint());
  }

  headAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const { side } = this.grid;
    const [column, row] = [event.clientX - box.left, event.clientY - box.top].map((at) =>
      Math.floor((at - LABELS) / (side + GAP)));
    const [layer, head] = this.isNarrow ? [row, column] : [column, row];
    const count = this.header.n_heads[layer];
    return count !== undefined && head >= 0 && head < count ? [layer, head] : null;
  }

  point(found) {
    this.tip.hidden = !found;
    if (!found) return;
    const [left, top] = this.corner(...found);
    const { side } = this.grid;
    this.tip.textContent = this.header.told[found[0]][found[1]];
    const shift = Math.min(left + side + 6, this.root.clientWidth - this.tip.offsetWidth);
    this.tip.style.transform = `translate(${Math.max(0, shift)}px, ${top + side + 6}px)`;
  }

  press(event) {
    const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const { n_heads: heads, chosen, told } = this.header;
    const [layer, head] = this.cursor ?? chosen;
    if (steps[event.key]) {
      const [across, down] = this.isNarrow ? [...steps[event.key]].reverse() : steps[event.key];
      const next = Math.min(Math.max(layer + across, 0), heads.length - 1);
      this.cursor = [next, Math.min(Math.max(head + down, 0), heads[next] - 1)];
      this.live.textContent = told[this.cursor[0]][this.cursor[1]];
      this.point(this.cursor);
      this.paint();
    } else if (event.key === "Enter" || event.key === " ") {
      this.choose([layer, head]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  choose(found) {
    if (!found) return;
    this.turn += 1;
    this.component.setStateValue("chosen", { layer: found[0], head: found[1], turn: this.turn });
  }

  remove() {
    this.resizer.disconnect();
    this.root.remove();
  }
}

/** 256 colours between the stops, as red, green, blue, alpha. */
function ramp(stops) {
  const colours = stops.map((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, value) => {
    const at = (value / 255) * (colours.length - 1);
    const low = Math.min(Math.floor(at), colours.length - 2);
    return [...colours[low].map((part, index) =>
      Math.round(part + (colours[low + 1][index] - part) * (at - low))), 255];
  });
}
