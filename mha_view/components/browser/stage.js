// The layer as one picture. Pointing, stepping and reading stay in the browser; the server hears of
// a choice: a token, a head, a step that stands, a page to open.

import { element } from "./dom.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";
import { boxAt, LANE, layOut } from "./stage_layout.js";
import { Lines } from "./stage_lines.js";
import { Marks } from "./stage_marks.js";
import { Numbers } from "./stage_numbers.js";
import { clear, paint, readRamps, shadeOf } from "./stage_paint.js";
import { Player } from "./stage_play.js";
import { sheetsOf } from "./stage_sheets.js";
import { addWords } from "./stage_words.js";
import { onRoom, room } from "./room.js";
import { readTheme } from "./theme.js";
import { addToolbar } from "./toolbar.js";
import { traced } from "./traced.js";

await loadStyles("plot.css", "stage.css");

const TIP_ROOM = 5; // letters over a place that a tip needs
const NARROW = 36; // letters of a stage whose tips stand at its edges
const LOW = "(max-height: 800px) and (min-width: 641px)"; // as in stage.css
const SEND_AFTER = 250; // milliseconds without a further choice before it goes to the server
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new StageView(parent);
  views.set(parent, view);
  await view.update(component);
  return () => {
    view.remove();
    views.delete(parent);
  };
}

class StageView {
  constructor(parent) {
    this.root = element("figure", "th-plot th-layer");
    this.root.view = this;
    this.sentence = element("div", "th-layer-words");
    this.scroller = element("div", "th-layer-scroll");
    this.board = element("div", "th-layer-board");
    this.scroller.append(this.board);
    this.tip = element("div", "th-tip th-layer-tip");
    this.tip.hidden = true;
    this.tipParts = [element("b", ""), element("span", "")];
    this.tip.append(...this.tipParts);
    this.over = element("div", "th-layer-over");
    this.over.append(this.tip);
    this.live = element("div", "th-live");
    this.live.setAttribute("aria-live", "polite");
    this.legend = element("p", "th-legend");
    this.root.append(this.sentence, this.scroller, this.legend, this.over, this.live);
    parent.append(this.root);
    this.lines = new Lines(this.board);
    this.painting = element("canvas", "th-sheet");
    this.painting.setAttribute("aria-hidden", "true");
    this.board.append(this.painting);
    this.marks = new Marks(this.board);
    this.player = new Player(this);
    this.frames = new Map(); // of the blocks
    this.names = new Map();
    this.turn = 0;
    this.matrices = []; // the table is of whole blocks
    this.untold = {}; // what the server has not answered to
    this.resizer = new ResizeObserver(() => this.resize());
    this.resizer.observe(this.root);
    this.endRoom = onRoom(() => this.layout && this.drawnWidth && this.draw());
    this.listen();
  }

  async update(component) {
    this.component = component;
    if (component.data !== this.packet) {
      this.packet = component.data;
      this.header = unpack(component.data);
      this.numbers = new Numbers(this.header);
      // An answer to an earlier choice than the newest one must not take that one back.
      if (this.header.turn >= this.turn) {
        this.turn = this.header.turn;
        this.untold = {};
        Object.assign(this, { head: this.header.head, token: this.header.focus });
        this.player.show(this.header.step);
      }
      this.token = Math.min(this.token, this.header.tokens.length - 1);
      this.head = Math.min(this.head, this.header.sizes.heads - 1);
    }
    const { header } = this;
    this.root.classList.toggle("th-small", header.small);
    this.root.dataset.figure = header.small ? "map" : "stage";
    this.board.setAttribute("role", "group");
    this.board.setAttribute("aria-label", header.alt);
    this.scroller.tabIndex = -1;
    addWords(this);
    this.player.update();
    this.barPlace = this.player.bar;
    addToolbar(this);
    this.draw();
    this.redrawTable?.();
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
  }

  // --- Drawing -----------------------------------------------------------------------------

  resize() {
    const width = Math.round(this.root.clientWidth);
    // Presented, words that came or wrapped later may have pushed the picture off the screen.
    const isOver = room() && !this.header?.small && this.root.offsetHeight > room() + 1;
    if (this.layout && width && (width !== this.drawnWidth || isOver)) this.draw();
  }

  draw() {
    if (!this.header) return;
    const { header } = this;
    this.drawnWidth = Math.round(this.root.clientWidth);
    const letter = parseFloat(getComputedStyle(this.root).fontSize);
    const around = [this.sentence, this.legend, this.root.querySelector(".th-layer-bar")];
    const taken = this.layout
      ? this.root.offsetHeight - this.board.offsetHeight
      : around.reduce((sum, part) => sum + (part?.offsetHeight ?? 0) + 6, 0);
    this.layout = layOut({
      tall: room() && !header.small ? room() - taken : null, low: matchMedia(LOW).matches,
      width: this.drawnWidth || 900, letter, small: header.small, open: header.small ? null : this.head,
      sizes: { ...header.sizes, columns: header.blocks.x.values.shape[1] },
    });
    this.root.style.setProperty("--wide", Math.ceil(this.layout.width)); // for paper
    this.root.style.setProperty("--high", Math.ceil(this.layout.height));
    this.board.style.width = `${this.layout.width}px`;
    this.board.style.height = `${Math.ceil(this.layout.height)}px`;
    this.paintBlocks();
    this.placeNames();
    this.placeLanes();
    this.explainColours();
    this.drawings = (this.drawings ?? 0) + 1;
    this.lines.draw(this.layout, this);
    this.marks.draw(this.layout, this.lines.flows);
    this.light();
  }

  paintBlocks() {
    const theme = readTheme(this.root);
    const isDark = luminance(theme.paper) < 0.5;
    const ramps = readRamps(this.header.ramps, { isDark, empty: theme.empty });
    const seen = new Set();
    clear(this.painting, this.layout);
    for (const box of this.layout.boxes) {
      const id = idOf(box);
      seen.add(id);
      if (!this.frames.has(id)) {
        const made = element("div", `th-block th-of-${box.name}`);
        Object.assign(made.dataset, { block: box.name, ...(box.head === null ? {} : { head: box.head }) });
        this.frames.set(id, made);
        this.board.append(made);
      }
      const frame = this.frames.get(id);
      const matrix = this.numbers.matrix(box.name, box.head, this.player.isTurned);
      place(frame, box);
      frame.style.setProperty("--role", `var(--${this.header.blocks[box.name].role}, currentcolor)`);
      const isPattern = box.name === "pattern";
      const how = { limit: matrix.block.limit, isSigned: !isPattern, scale: this.header.scale };
      paint(this.painting, box, {
        rows: matrix.rows, columns: matrix.columns, seam: isPattern && !this.header.small,
        ramp: isPattern ? ramps.weights : ramps.signed,
        shade: matrix.isReady ? matrix.at : (row, column) => shadeOf(matrix.at(row, column), how),
      });
    }
    for (const [id, frame] of this.frames) {
      if (seen.has(id)) continue;
      frame.remove();
      this.frames.delete(id);
    }
  }

  /** Symbol and shape over each column of blocks: a link to its page. */
  placeNames() {
    const { header, layout } = this;
    const { blocks, small } = header;
    const letterWide = (room() ? 0.46 : 0.36) * layout.letter; // of a shape's monospaced letters
    let before = -Infinity;
    let isLow = false;
    for (const [name, block] of Object.entries(blocks)) {
      const box = layout.boxes.find((one) => one.name === name);
      if (!this.names.has(name)) {
        const made = element("a", "th-name");
        made.dataset.block = name;
        made.append(element("b", ""), element("code", ""));
        made.addEventListener("click", (event) => this.follow(event, name));
        made.addEventListener("keydown", (event) => this.walkCells(event, name));
        made.addEventListener("blur", () => this.point(null));
        this.names.set(name, made);
        this.board.append(made);
      }
      const link = this.names.get(name);
      const isTurned = this.player.isTurned || !name.endsWith("_rot");
      const symbol = isTurned ? block.symbol : block.symbol.replace("\u0303", "");
      link.href = `${header.base}/${block.page}?${header.query}`;
      link.firstChild.replaceChildren(...written(symbol));
      link.lastChild.textContent = small ? "" : block.shape;
      link.setAttribute("aria-label", `${symbol.replace("_", " ")}, ${block.label}, ${block.shape}`);
      link.title = small ? `${block.label} ${block.shape}` : block.label;
      link.style.setProperty("--role", `var(--${block.role}, currentcolor)`);
      const middle = box.x + box.width / 2;
      const half = (block.shape.length * letterWide) / 2 + 2;
      // Shapes that would run into each other stand on two lines.
      isLow = !small && middle - half < before && !isLow;
      if (!isLow) before = middle + half;
      link.classList.toggle("th-low", isLow);
      link.style.left = `${middle}px`;
      if (small) Object.assign(link.style, { width: `${box.width + layout.letter * 0.5}px`, height: `${layout.height}px` });
    }
    if (small) this.thinNames();
  }

  /** On a narrow map: of names that would touch, those of the page's own blocks are kept. */
  thinNames() {
    const taken = [];
    const order = [...this.names].sort(([a], [b]) => this.player.isAbout(b) - this.player.isAbout(a));
    for (const [, link] of order) {
      const { firstChild: name } = link;
      name.style.visibility = "";
      const { left, right } = name.getBoundingClientRect();
      const isFree = taken.every(([from, to]) => right < from - 2 || left > to + 2);
      if (isFree) taken.push([left, right]);
      else name.style.visibility = "hidden";
    }
  }

  /** The two colour scales in words. */
  explainColours() {
    const { small, ramps, scale, words } = this.header;
    this.legend.hidden = small;
    if (small) return;
    const isDark = luminance(readTheme(this.root).paper) < 0.5;
    const said = { linear: "legend.weights", sqrt: "legend.weights.sqrt", log: "legend.weights.log" };
    this.legend.replaceChildren(...[
      [ramps.signed[Number(isDark)], words["legend.signed"]], [ramps.weights, words[said[scale]]],
    ].map(([colours, text]) => {
      const part = element("span", "");
      const bar = element("i", "");
      bar.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
      part.append(...(colours === ramps.weights ? [bar] : ["−", bar, "+"].map((one) => (one === bar ? bar : element("b", "", one)))), element("span", "", text ?? ""));
      return part;
    }));
  }

  /** A button beside each lane: which head it is, and a way to choose it. */
  placeLanes() {
    const { layout, header } = this;
    if (header.small) return this.laneButtons?.forEach((button) => button.remove());
    this.laneButtons ??= [];
    const left = layout.boxes.find(({ name }) => name === "v");
    const right = layout.boxes.find(({ name }) => name === "q_rot");
    while (this.laneButtons.length > layout.lanes.length) this.laneButtons.pop().remove();
    for (const { head, y, height } of layout.lanes) {
      const button = this.laneButtons[head] ??= this.laneButton(head);
      const label = header.heads[head];
      button.textContent = height >= 0.62 * layout.letter ? label : "";
      button.setAttribute("aria-label", label);
      button.setAttribute("aria-pressed", String(head === this.head));
      button.style.setProperty("--head", header.colours[head]);
      const from = left.x + left.width;
      Object.assign(button.style, { left: `${from + (right.x - from) * 0.28}px`, width: `${(right.x - from) * 0.7}px`, top: `${y}px`, height: `${height}px` });
    }
  }

  laneButton(head) {
    const made = element("button", "th-lane");
    made.addEventListener("click", () => this.choose({ head }));
    const point = (isOn) => () => this.point(isOn ? { head, token: this.token } : null);
    made.addEventListener("pointerenter", point(true));
    made.addEventListener("pointerleave", point(false));
    made.addEventListener("focus", point(true));
    made.addEventListener("blur", point(false));
    this.board.append(made);
    return made;
  }

  /** Lights what is pointed at, else what is chosen; a step dims what it is not about. */
  light() {
    const pointed = this.pointed ?? {};
    const token = pointed.token ?? this.token;
    const litHeads = new Set([this.head, pointed.head ?? this.head]);
    this.lightHeads(litHeads);
    this.wordButtons?.[this.litWord]?.classList.remove("th-lit");
    this.wordButtons?.[token]?.classList.add("th-lit");
    this.litWord = token;
    this.marks.light({ token, head: this.head, pointed, view: this });
  }

  /** What a head and a step light; nothing is touched where neither has changed. */
  lightHeads(litHeads) {
    const stamp = [...litHeads, this.player.step, this.token, this.header.turn, this.drawings].join();
    if (stamp === this.lightStamp) return;
    this.lightStamp = stamp;
    for (const frame of this.frames.values()) frame.classList.toggle("th-dim", !this.player.isAbout(frame.dataset.block));
    for (const [name, link] of this.names) link.classList.toggle("th-dim", !this.player.isAbout(name));
    this.laneButtons?.forEach((button, head) => {
      button.classList.toggle("th-quiet", !litHeads.has(head));
      button.classList.toggle("th-dim", !this.player.isAbout("cut"));
    });
    this.wordButtons?.forEach((button, place) => {
      button.setAttribute("aria-pressed", String(place === this.token));
      button.tabIndex = place === this.token ? 0 : -1;
    });
    this.sentence.classList.toggle("th-dim", !this.player.isAbout("words"));
    this.showWord();
    this.lines.dim(this.player);
  }

  /** Brings the chosen word into sight where the sentence is wider than the screen, once a choice. */
  showWord() {
    const stamp = `${this.token} ${this.drawings}`;
    const word = this.wordButtons?.[this.token];
    if (!word || stamp === this.wordShown) return;
    this.wordShown = stamp;
    const strip = this.sentence;
    const left = word.offsetLeft - strip.offsetLeft;
    if (left < strip.scrollLeft || left + word.offsetWidth > strip.scrollLeft + strip.clientWidth) {
      strip.scrollLeft = left - (strip.clientWidth - word.offsetWidth) / 2;
    }
  }

  // --- Pointing ----------------------------------------------------------------------------

  listen() {
    this.board.addEventListener("pointermove", (event) => this.hover(event));
    this.board.addEventListener("pointerleave", () => this.point(null));
    this.board.addEventListener("click", (event) => this.click(event));
    this.root.addEventListener("keydown", (event) => this.player.press(event));
  }

  hover(event) {
    if (this.header.small || event.target.closest(".th-name, .th-lane")) return;
    const cell = this.cellAt(event);
    const place = this.placeOf(event.clientX, event.clientY); // read before anything is written
    this.point(cell && this.pointing(cell));
    if (Boolean(cell) !== this.isOnCell) this.board.style.cursor = cell ? "pointer" : "";
    this.isOnCell = Boolean(cell);
    if (cell) this.showTip(cell, place);
  }

  cellAt(event) {
    const frame = this.board.getBoundingClientRect();
    const found = boxAt(this.layout, event.clientX - frame.left, event.clientY - frame.top);
    if (!found) return null;
    const { box, across, down } = found;
    const matrix = this.numbers.matrix(box.name, box.head);
    return { name: box.name, head: box.head, row: Math.floor(down * matrix.rows), column: Math.floor(across * matrix.columns), box, across, down };
  }

  /** What a cell lights: its token, its head, and a pattern's key. */
  pointing({ name, head, row, column, across, down }) {
    const { tokens, sizes } = this.header;
    const at = (share) => Math.min(tokens.length - 1, Math.floor(share * tokens.length));
    const isPattern = name === "pattern";
    const isBanded = ["q", "k", "v", "concat"].includes(name);
    const { bandRows } = this.numbers.matrix(name, head);
    const banded = isBanded ? Math.floor(row / bandRows) : null;
    let lit = head ?? banded;
    if (lit !== null && ["k", "v", "k_rot", "v_band"].includes(name)) {
      const own = Math.floor(this.head / sizes.group);
      lit = lit === own ? this.head : lit * sizes.group;
    }
    return {
      name, row, column, head: lit ?? undefined, token: at(isPattern ? down : across), key: isPattern ? at(across) : undefined,
    };
  }

  point(pointed) {
    const stamp = pointed && [pointed.name, pointed.row, pointed.column, pointed.head, pointed.token, pointed.key].join();
    if (stamp === this.pointedStamp) return;
    this.pointedStamp = stamp;
    this.pointed = pointed;
    if (!pointed?.name) this.tip.hidden = true;
    this.light();
  }

  /** A place of the window, from each of the stage's edges. */
  placeOf(x, y) {
    const { left, right, top, bottom } = this.root.getBoundingClientRect();
    return { left: x - left, right: right - x, top: y - top, bottom: bottom - y };
  }

  /** Beside the place, towards the middle, and over it where there is room: by the edges that are
   *  known, so that nothing is asked of a layout that is about to change. */
  showTip(cell, { left, right, top, bottom }) {
    const { title, made } = this.numbers.describe(cell);
    const { letter } = this.layout;
    const [name, what] = this.tipParts;
    name.textContent = title;
    what.textContent = made;
    this.tip.hidden = false;
    const beside = (edge) => (left + right < NARROW * letter ? "0" : `${edge + 14}px`);
    const isLeft = left < right;
    const isOver = top > TIP_ROOM * letter;
    Object.assign(this.tip.style, {
      left: isLeft ? beside(left) : "auto", right: isLeft ? "auto" : beside(right),
      top: isOver ? "auto" : `${top + 20}px`, bottom: isOver ? `${bottom + 14}px` : "auto",
    });
    return `${title}. ${made}`;
  }

  /** Arrow keys go from number to number of the block whose name has the focus. */
  walkCells(event, name) {
    if (this.header.small || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") return this.point(null);
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const { sizes } = this.header;
    const kvHead = Math.floor(this.head / sizes.group);
    const head = !LANE.includes(name) ? null : ["k_rot", "v_band"].includes(name) ? kvHead : this.head;
    const matrix = this.numbers.matrix(name, head);
    const isPattern = name === "pattern";
    const own = this.numbers.columnOf(this.token);
    const at = this.pointed?.name === name ? this.pointed : { row: isPattern ? own : 0, column: isPattern ? 0 : own };
    const limit = (value, size) => Math.min(Math.max(value, 0), size - 1);
    const isFirst = this.pointed?.name !== name;
    const row = limit(at.row + (isFirst ? 0 : move[0]), matrix.rows);
    const column = limit(at.column + (isFirst ? 0 : move[1]), matrix.columns);
    const box = this.layout.boxes.find((one) => one.name === name && one.head === head);
    const [across, down] = [(column + 0.5) / matrix.columns, (row + 0.5) / matrix.rows];
    const cell = { name, head, row, column, box, across, down };
    const frame = this.board.getBoundingClientRect();
    const place = this.placeOf(frame.left + box.x + across * box.width, frame.top + box.y + down * box.height);
    this.point(this.pointing(cell));
    this.live.textContent = this.showTip(cell, place);
  }

  click(event) {
    if (event.target.closest(".th-name, .th-lane") || this.header.small) return;
    const cell = this.cellAt(event);
    if (!cell) return;
    // A finger has no hover: its first tap reads a number, its second opens the page.
    const stamp = [cell.name, cell.head].join();
    if (event.pointerType === "touch" && this.tapped !== stamp) {
      this.tapped = stamp;
      const place = this.placeOf(event.clientX, event.clientY);
      this.point(this.pointing(cell));
      this.showTip(cell, place);
      return;
    }
    const { head } = this.pointing(cell);
    if (cell.head !== null && head !== this.head) this.choose({ head });
    else this.open(cell.name);
  }

  // --- What the server is told -------------------------------------------------------------

  /** A new head or token: shown at once, told when no other follows. */
  choose(choice) {
    Object.assign(this, choice);
    this.tip.hidden = true;
    this.draw();
    this.tell(choice);
  }

  /** Tells the server all that it has not answered to yet. */
  tell(choice, wait = SEND_AFTER) {
    this.turn += 1;
    this.untold = { ...this.untold, ...choice };
    clearTimeout(this.telling);
    const told = { ...this.untold, turn: this.turn };
    const go = () => this.component.setStateValue("told", told);
    if (wait) this.telling = setTimeout(go, wait);
    else go();
  }

  /** Opens a block's page within the app; a new tab is left to the browser. */
  follow(event, name) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    this.open(name);
  }

  open(name) {
    this.tell({ page: this.header.blocks[name].page }, 0);
  }

  /** The picture as it stands; a sentence that does not fit over it stands in the file's head. */
  drawing() {
    const isCut = this.sentence.scrollWidth > this.sentence.clientWidth + 1;
    this.scroller.scrollLeft = 0;
    return traced(this.root, `.th-layer-bar, .th-tip, .th-live, .th-table${isCut ? ", .th-layer-words" : ""}`);
  }

  /** The step that is shown, in words. */
  get remarks() {
    return this.player.step ? [this.player.parts.said.textContent] : [];
  }

  /** For the table: every block in a line, then the numbers of each. */
  sheets() {
    return sheetsOf(this.header, this.numbers);
  }

  /** The picture, for a page that is saved. */
  async saved() {
    return { ...this.drawing(), matrices: [] };
  }

  remove() {
    this.resizer.disconnect();
    this.endRoom();
    this.player.stop();
    clearTimeout(this.telling);
    this.root.remove();
  }
}

const idOf = ({ name, head }) => `${name}.${head}`;

function place(node, { x, y, width, height }) {
  Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
}

/** "Q̃_k" with its index set low. */
function written(symbol) {
  return symbol.split(/(_[a-z]+)/).filter(Boolean).map((part) =>
    part.startsWith("_") ? element("sub", "", part.slice(1)) : document.createTextNode(part));
}

function luminance(colour) {
  const pen = luminance.pen ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
  return (0.3 * red + 0.6 * green + 0.1 * blue) / 255;
}
