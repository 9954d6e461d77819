// A board of 32 × 32 pixels: a pointer or the keyboard draws, the server hears of each stroke.

import { element } from "./dom.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";
import { readTheme } from "./theme.js";

await loadStyles("plot.css", "canvas.css");

const SIDE = 32;
const ZOOM = 10; // device pixels a pixel of the drawing
const SEND_AFTER = 400; // milliseconds without a further key before a drawing goes to the server
const PEN = 2; // pixels from the pen's middle to its rim
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new CanvasView(parent);
  views.set(parent, view);
  view.update(component);
  return () => {
    view.remove();
    views.delete(parent);
  };
}

class CanvasView {
  constructor(parent) {
    this.root = element("div", "th-board");
    this.board = element("canvas", "th-paper");
    this.board.width = this.board.height = SIDE * ZOOM;
    this.board.tabIndex = 0;
    this.board.setAttribute("role", "application");
    this.eraser = element("button", "th-button");
    this.clearer = element("button", "th-button");
    this.live = element("div", "th-live");
    this.live.setAttribute("aria-live", "polite");
    const bar = element("div", "th-board-bar");
    bar.append(this.eraser, this.clearer);
    this.root.append(this.board, bar, this.live);
    parent.append(this.root);
    this.pixels = new Uint8Array(SIDE * SIDE);
    this.cursor = [SIDE / 2, SIDE / 2];
    this.turn = 0;
    this.isErasing = this.isDown = false;
    this.listen();
  }

  update(component) {
    this.component = component;
    if (component.data !== this.packet) {
      this.packet = component.data;
      this.header = unpack(component.data);
      // An answer to an earlier stroke than the newest one must not take that one back.
      if (this.header.turn >= this.turn && !this.stroke) {
        this.turn = this.header.turn;
        this.pixels = readInk(this.header.ink);
      }
    }
    const { words, label } = this.header;
    this.board.setAttribute("aria-label", label);
    this.board.setAttribute("aria-description", words.keys ?? "");
    this.eraser.textContent = words.erase ?? "";
    this.eraser.setAttribute("aria-pressed", String(this.isErasing));
    this.clearer.textContent = words.clear ?? "";
    this.paint();
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
  }

  listen() {
    const { board } = this;
    board.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      board.setPointerCapture(event.pointerId);
      this.stroke = this.place(event);
      this.mark(this.stroke);
      this.paint();
    });
    board.addEventListener("pointermove", (event) => {
      if (!this.stroke) return;
      const next = this.place(event);
      this.line(this.stroke, next);
      this.stroke = next;
      this.paint();
    });
    for (const end of ["pointerup", "pointercancel"]) {
      board.addEventListener(end, () => {
        if (!this.stroke) return;
        this.stroke = null;
        this.send(0);
      });
    }
    board.addEventListener("keydown", (event) => this.press(event));
    for (const way of ["focus", "blur"]) board.addEventListener(way, () => this.paint());
    this.eraser.addEventListener("click", () => {
      this.isErasing = !this.isErasing;
      this.eraser.setAttribute("aria-pressed", String(this.isErasing));
    });
    this.clearer.addEventListener("click", () => this.clear());
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const { words } = this.header;
    if (STEPS[event.key]) {
      const [across, down] = STEPS[event.key];
      this.cursor = [this.cursor[0] + across, this.cursor[1] + down].map((at) =>
        Math.min(SIDE - 1, Math.max(0, at)));
      if (this.isDown) this.markAndSend();
    } else if (event.key === " ") {
      this.isDown = !this.isDown;
      this.live.textContent = (this.isDown ? words.down : words.up) ?? "";
      if (this.isDown) this.markAndSend();
    } else if (event.key === "Delete") {
      this.clear();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.paint();
  }

  markAndSend() {
    this.mark(this.cursor);
    this.send(SEND_AFTER);
  }

  clear() {
    this.pixels.fill(0);
    this.isDown = false;
    this.live.textContent = this.header.words.cleared ?? "";
    this.paint();
    this.send(0);
  }

  place(event) {
    const box = this.board.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]
      .map((share) => Math.floor(share * SIDE));
  }

  /** Every pixel between two places, so that a fast pointer leaves no gaps. */
  line([x0, y0], [x1, y1]) {
    const count = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0), 1);
    for (let step = 1; step <= count; step += 1) {
      this.mark([Math.round(x0 + ((x1 - x0) * step) / count), Math.round(y0 + ((y1 - y0) * step) / count)]);
    }
  }

  /** A round pen, as thick as the strokes of the set. */
  mark([x, y]) {
    for (let down = -PEN; down <= PEN; down += 1) {
      for (let across = -PEN; across <= PEN; across += 1) {
        const [row, column] = [y + down, x + across];
        const isInside = Math.min(row, column) >= 0 && Math.max(row, column) < SIDE;
        if (!isInside || down * down + across * across > PEN * PEN + 1) continue;
        this.pixels[row * SIDE + column] = this.isErasing ? 0 : 1;
      }
    }
  }

  paint() {
    const theme = readTheme(this.root);
    const pen = this.board.getContext("2d");
    pen.fillStyle = theme.field;
    pen.fillRect(0, 0, SIDE * ZOOM, SIDE * ZOOM);
    pen.fillStyle = theme.line;
    for (let at = 4; at < SIDE; at += 4) {
      pen.fillRect(at * ZOOM, 0, 1, SIDE * ZOOM);
      pen.fillRect(0, at * ZOOM, SIDE * ZOOM, 1);
    }
    pen.fillStyle = theme.text;
    this.pixels.forEach((ink, place) => {
      if (ink) pen.fillRect((place % SIDE) * ZOOM, Math.floor(place / SIDE) * ZOOM, ZOOM, ZOOM);
    });
    if (document.activeElement === this.board) {
      pen.strokeStyle = theme.accent;
      pen.lineWidth = 3;
      const [x, y] = this.cursor;
      pen.strokeRect((x - PEN) * ZOOM, (y - PEN) * ZOOM, (2 * PEN + 1) * ZOOM, (2 * PEN + 1) * ZOOM);
    }
  }

  send(delay) {
    this.turn += 1;
    const drawn = { ink: writeInk(this.pixels), turn: this.turn };
    clearTimeout(this.sending);
    const go = () => this.component.setStateValue("drawn", drawn);
    if (delay) this.sending = setTimeout(go, delay);
    else go();
  }

  remove() {
    clearTimeout(this.sending);
    this.root.remove();
  }
}

/** A bit a pixel, row by row, in URL-safe base64; "" where there is no ink. */
function writeInk(pixels) {
  if (!pixels.some(Boolean)) return "";
  let packed = "";
  for (let start = 0; start < pixels.length; start += 8) {
    let byte = 0;
    for (let bit = 0; bit < 8; bit += 1) byte = (byte << 1) | pixels[start + bit];
    packed += String.fromCharCode(byte);
  }
  return btoa(packed).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function readInk(text) {
  const packed = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from({ length: SIDE * SIDE }, (_, place) =>
    (packed.charCodeAt(place >> 3) >> (7 - (place & 7))) & 1);
}
