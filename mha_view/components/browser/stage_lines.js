// The stage's lines: how the blocks hang together, and what a token lights.

import { fill } from "./cells.js";
import { arc, band, flow, LANE, OF_KV } from "./stage_layout.js";

const SVG = "http://www.w3.org/2000/svg";
const LEAST_RIBBON = 0.005; // a thinner one would not be seen
const LEAST_NUMBER = 0.05;
const MOST_NUMBERS = 3;
const RIBBON = 0.8; // letters wide at a weight of 1
const LEAST_COLUMN = 3; // pixels of the mark around a column

export class Lines {
  constructor(board) {
    // The lines that join the blocks lie under them, the marks above.
    this.below = make("svg", { class: "th-layer-lines", "aria-hidden": "true" });
    this.above = make("svg", { class: "th-layer-lines th-layer-marks", "aria-hidden": "true" });
    board.append(this.below, this.above);
  }

  /** Everything that does not depend on what is pointed at. */
  draw(layout, view) {
    this.layout = layout;
    for (const svg of [this.below, this.above]) {
      svg.setAttribute("width", layout.width);
      svg.setAttribute("height", layout.height);
    }
    const { header } = view;
    this.box = (name, head = null) => layout.boxes.find((one) => one.name === name && one.head === head);
    const of = (name) => layout.boxes.find((one) => one.name === name);
    this.edges = Object.fromEntries([...new Set(layout.boxes.map(({ name }) => name))].map((name) => [name, of(name)]));
    const parts = [this.project(view), this.cut(view), this.stack(view), this.output(view), this.bypass(view)];
    if (!header.small) parts.push(...this.ticks(view), ...this.hints(view));
    this.parts = parts;
    this.lane = make("rect", { class: "th-open" });
    this.below.replaceChildren(this.lane, ...parts);
    this.marks = make("g", {});
    this.above.replaceChildren(this.marks);
  }

  project() {
    const { x, q } = this.edges;
    const made = group("project");
    made.append(make("path", { d: flow(rightOf(x), leftOf(q)), class: "th-flow" }));
    return made;
  }

  cut({ header }) {
    const { v, q, q_rot: first } = this.edges;
    const made = group("cut");
    for (const { head, y, height } of this.layout.lanes) {
      const own = band(q, head, header.sizes.heads);
      made.append(make("path", {
        d: flow({ ...own, x: v.x + v.width }, { x: first.x, y, height }), class: "th-flow", "data-lane": head, style: `--head: ${header.colours[head]}`,
      }));
    }
    return made;
  }

  stack({ header }) {
    const { heads: last, concat } = this.edges;
    const made = group("stack");
    for (const { head, y, height } of this.layout.lanes) {
      const own = band(concat, head, header.sizes.heads);
      made.append(make("path", {
        d: flow({ x: last.x + last.width, y, height }, own), class: "th-flow", "data-lane": head, style: `--head: ${header.colours[head]}`,
      }));
    }
    return made;
  }

  /** W_o between Concat and O, and O's way to the sum. */
  output({ header }) {
    const { concat, out, residual } = this.edges;
    const { letter, middle } = this.layout;
    const made = group("output");
    made.append(
      make("path", { d: flow(rightOf(concat), leftOf(out)), class: "th-flow" }),
      make("line", { x1: out.x + out.width, x2: residual.x, y1: middle, y2: middle, class: "th-way th-sum" }),
    );
    if (header.small) return made;
    const side = 1.6 * letter;
    const at = (concat.x + concat.width + out.x) / 2;
    made.append(make("rect", { x: at - side / 2, y: middle - side / 2, width: side, height: side, rx: 3, class: "th-matrix" }));
    made.append(text("W", at, middle + 0.22 * letter, "th-on-matrix", "o"));
    return made;
  }

  /** From the stream before the norm, round the layer, to the sum. */
  bypass({ header }) {
    const { x, out, residual } = this.edges;
    const { letter, middle, bottom, foot } = this.layout;
    const made = group("bypass");
    const start = x.y + x.height - (header.small ? 0.15 : 0.5) * letter;
    const at = (out.x + out.width + residual.x) / 2;
    const low = bottom + foot - (header.small ? 0.2 : 0.5) * letter;
    const radius = (header.small ? 0.3 : 0.62) * letter;
    const left = header.small ? 2 : x.x - 1.6 * letter;
    made.append(
      make("path", { d: `M${x.x - 1} ${start}H${left}V${low}H${at}V${middle + radius}`, class: "th-way th-round" }),
      make("circle", { cx: at, cy: middle, r: radius, class: "th-plus" }),
      make("path", { d: `M${at - radius * 0.6} ${middle}h${radius * 1.2}M${at} ${middle - radius * 0.6}v${radius * 1.2}`, class: "th-plus" }),
    );
    if (!header.small) made.append(text(header.words.bypass ?? "", (x.x + residual.x) / 2, low + 0.25 * letter, "th-hint th-over"));
    return made;
  }

  /** A head's colour beside its band, wherever a tensor is whole. */
  ticks({ header }) {
    const [made, stacked] = [group("bands"), group("stack")];
    const { heads, kvHeads, group: shared } = header.sizes;
    for (const [name, count] of [["q", heads], ["k", kvHeads], ["v", kvHeads], ["concat", heads]]) {
      for (let place = 0; place < count; place += 1) {
        const own = band(this.edges[name], place, count);
        const head = count === heads ? place : place * shared;
        (name === "concat" ? stacked : made).append(make("rect", {
          x: own.x - 5, y: own.y + 0.5, width: 3, height: Math.max(own.height - 1, 1), fill: header.colours[head], "data-lane": head,
        }));
      }
    }
    // Heads that share keys and values: a bracket over their lanes, beside the blocks they share.
    for (let place = 0; shared > 1 && place < kvHeads; place += 1) {
      const [first, last] = [this.layout.lanes[place * shared], this.layout.lanes[(place + 1) * shared - 1]];
      for (const name of OF_KV) {
        const { x, width } = this.edges[name];
        const [left, top, foot] = [x + width + 3, first.y, last.y + last.height];
        made.append(make("path", { d: `M${left} ${top}h3V${foot}h-3`, class: "th-shared", style: `--head: ${header.colours[place * shared]}` }));
      }
    }
    return [made, stacked];
  }

  /** Under the lanes: what happens there. Beside X: which way tokens and features run. */
  hints({ header }) {
    const { words, sizes, rope } = header;
    const { letter, bottom, boxes } = this.layout;
    const { x, q, k, v, q_rot: turned, k_rot: other, v_band: still, pattern, heads, concat } = this.edges;
    const low = bottom + 1.15 * letter;
    const between = (left, right) => (left.x + left.width + right.x) / 2;
    const down = text(fill(words.down ?? "", { d: sizes.dModel }), 0, 0, "th-hint");
    set(down, { transform: `translate(${x.x - 0.85 * letter} ${x.y}) rotate(90)`, "text-anchor": "start" });
    const across = text(fill(words.across ?? "", { S: sizes.tokens }), k.x + k.width / 2, Math.min(q.y, k.y, v.y) - 0.55 * letter, "th-hint");
    const named = (role, place) =>
      text("W", between(x, q) - 1, q.y + q.height / 2 + (place - 1) * 1.3 * letter + 0.2 * letter, `th-on-matrix ${role}`, role[0]);
    const breaks = boxes.filter(({ isBroken }) => isBroken).map((box) => {
      const y = box.y + box.height * 0.78;
      return make("path", { d: `M${box.x - 4} ${y + 3}l${box.width + 8} -6m0 5l${-box.width - 8} 6`, class: "th-break" });
    });
    if (breaks.length) breaks.push(text(words.broken ?? "", x.x + x.width / 2 + 2 * letter, low, "th-hint"));
    const parts = {
      axes: [down, across, ...breaks],
      project: ["query", "key", "value"].map(named),
      cut: [text(fill(words.cut ?? "", { n: sizes.heads }), between(v, turned), low, "th-hint")],
      turn: [
        text(words[rope ? "turn" : "no_turn"] ?? "", (turned.x + other.x + other.width) / 2, low, "th-hint"),
        ...(rope ? [text(words.no_touch ?? "", still.x + still.width / 2, low, "th-hint")] : []),
      ],
      weigh: [text(`softmax(·/√${sizes.dHead})`, pattern.x + pattern.width / 2, low, "th-hint pattern")],
      stack: [text(words.stack ?? "", between(heads, concat), low, "th-hint")],
    };
    return Object.entries(parts).map(([name, nodes]) => {
      const made = group(name);
      made.append(...nodes);
      return made;
    });
  }

  // --- What is lit -------------------------------------------------------------------------

  light({ token, head, pointed, view }) {
    if (!this.layout) return;
    const { header, numbers, player } = view;
    const { lanes, room } = this.layout;
    const { q_rot: first, heads: last } = this.edges;
    const open = lanes[head];
    const pad = header.small ? 1 : 0.35 * this.layout.letter;
    set(this.lane, {
      x: first.x - pad, y: open.y - room - (room ? 0 : pad), width: last.x + last.width - first.x + 2 * pad,
      height: open.height + room + (room ? pad : 2 * pad), rx: 4, style: `--head: ${header.colours[head]}`,
    });
    const column = numbers.columnOf(token);
    const shared = header.sizes.group;
    const isLit = (box) => box.head === null || [head, pointed.head].some((lit) =>
      lit !== undefined && box.head === (OF_KV.includes(box.name) ? Math.floor(lit / shared) : lit));
    const marks = [];
    let faint = "";
    for (const box of this.layout.boxes) {
      if (header.small && box.head !== null && box.head !== head) continue;
      if (box.name === "pattern") {
        if (player.isAbout("pattern") && (box.head === head || box.head === pointed.head)) marks.push(...this.rowMark(box, column, view));
      } else if (player.isAbout(box.name)) {
        if (isLit(box)) marks.push(...this.columnMark(box, column, view, "th-column"));
        else faint += this.columnPath(box, column, view);
      }
    }
    if (faint) marks.push(make("path", { d: faint, class: "th-column th-faint" }));
    if (!header.small) marks.push(...this.ribbons({ token, head, view }), ...this.keyMarks({ token, head, pointed, view }), ...this.headMarks(pointed, view));
    if (pointed.name) marks.push(...this.cellMark(pointed, view));
    this.marks.replaceChildren(...marks);
  }

  /** The lines that a head and a step light. */
  lightParts({ heads, view }) {
    this.lane.classList.toggle("th-dim", !LANE.some((name) => view.player.isAbout(name)));
    for (const part of this.parts) {
      part.classList.toggle("th-dim", !view.player.isAbout(part.dataset.part));
      part.querySelectorAll("[data-lane]").forEach((one) =>
        one.classList.toggle("th-lit", heads.has(Number(one.dataset.lane))));
    }
  }

  columnMark(box, column, { numbers }, kind) {
    const { columns } = numbers.matrix(box.name, box.head);
    return framed(columnFrame(box, column, columns), kind, { "data-of": box.name, "data-column": column });
  }

  /** The same as a part of one path, for the many that are not looked at. */
  columnPath(box, column, { numbers }) {
    const { x, y, width, height } = columnFrame(box, column, numbers.matrix(box.name, box.head).columns);
    return `M${x} ${y}h${width}v${height}h${-width}z`;
  }

  rowMark(box, row, { numbers }) {
    const { rows } = numbers.matrix(box.name, box.head);
    const high = Math.max(box.height / rows, LEAST_COLUMN);
    const y = box.y + ((row + 0.5) * box.height) / rows - high / 2;
    const place = { x: box.x - 1.5, y: y - 0.5, width: box.width + 3, height: high + 1 };
    return framed(place, "th-column", { "data-of": box.name, "data-row": row });
  }

  /** The strongest key, or the one pointed at: its column among keys and values, and its word. */
  keyMarks({ token, head, pointed, view }) {
    const { header, numbers, player } = view;
    const strongest = (numbers.row(head, token, LEAST_NUMBER) ?? [])[0];
    const key = pointed.key ?? strongest?.key;
    const kvHead = Math.floor(head / header.sizes.group);
    const { letter } = this.layout;
    const at = (box, place) => box.x + ((numbers.columnOf(place) + 0.5) * box.width) / numbers.matrix(box.name, box.head).columns;
    const made = [];
    const word = (box, place, role, row) => {
      const label = text(shorten(header.tokens[place], 9), at(box, place), box.y - (0.4 + 1.05 * row) * letter, `th-word ${role}`);
      made.push(label);
    };
    const { x } = this.edges;
    const isAboutX = player.isAbout("x");
    if (isAboutX) word(x, token, "query", 0);
    if (player.isAbout("q_rot")) word(this.box("q_rot", head), token, "query", 0);
    if (key === undefined) return made;
    for (const name of ["k_rot", "v_band"]) {
      if (player.isAbout(name)) made.push(...this.columnMark(this.box(name, kvHead), numbers.columnOf(key), view, "th-column th-key"));
    }
    // Two words that would touch stand one over the other.
    const room = (letters(header.tokens[key]) + letters(header.tokens[token])) * 0.25 * letter + 4;
    const isNear = Math.abs(at(x, key) - at(x, token)) < room;
    if (isAboutX && key !== token) word(x, key, "key", isNear ? 1 : 0);
    if (player.isAbout("k_rot")) word(this.box("k_rot", kvHead), key, "key", 0);
    return made;
  }

  /** From each key's value into the output of the query, as wide as the weight. */
  ribbons({ token, head, view }) {
    const { header, numbers, player } = view;
    if (!player.isAbout("ribbons")) return [];
    const row = numbers.row(head, token, LEAST_RIBBON);
    if (!row) return [];
    const from = this.box("v_band", Math.floor(head / header.sizes.group));
    const to = this.box("heads", head);
    const { letter, room } = this.layout;
    const at = (box, place) => box.x + ((numbers.columnOf(place) + 0.5) * box.width) / numbers.matrix(box.name, box.head).columns;
    const rise = room - 1.55 * letter;
    const made = [...row].reverse().map(({ key, weight }) => make("path", {
      d: arc({ x: at(from, key), y: from.y }, { x: at(to, token), y: to.y }, rise), class: "th-ribbon",
      "stroke-width": (RIBBON * letter * weight).toFixed(3), "data-key": key, "data-weight": weight,
    }));
    const told = row.filter(({ weight }) => weight >= LEAST_NUMBER).slice(0, MOST_NUMBERS);
    const isMany = told.length > 2;
    const label = text("", isMany ? to.x + to.width : (from.x + to.x + to.width) / 2, to.y - room + 0.95 * letter, "th-weights");
    if (isMany) label.setAttribute("text-anchor", "end");
    told.forEach(({ key, weight }, place) => {
      const word = make("tspan", { class: "key", dx: place ? 0.5 * letter : 0 });
      word.textContent = `${shorten(header.tokens[key], 9)} `;
      const number = make("tspan", { class: "pattern" });
      number.textContent = weight.toFixed(3);
      label.append(word, number);
    });
    return [...made, label];
  }

  /** The lane and the bands of a head that is pointed at. */
  headMarks(pointed, { header }) {
    if (pointed.head === undefined) return [];
    const { heads, kvHeads, group: shared } = header.sizes;
    const colour = header.colours[pointed.head];
    const lane = this.layout.lanes[pointed.head];
    const { q_rot: first, heads: last } = this.edges;
    const frame = (box) => make("rect", { x: box.x - 2, y: box.y - 1, width: box.width + 4, height: box.height + 2, rx: 2, class: "th-band", style: `--head: ${colour}` });
    const kv = Math.floor(pointed.head / shared);
    return [
      frame({ x: first.x - 2, y: lane.y - 1, width: last.x + last.width - first.x + 4, height: lane.height + 2 }),
      frame(band(this.edges.q, pointed.head, heads)), frame(band(this.edges.k, kv, kvHeads)),
      frame(band(this.edges.v, kv, kvHeads)), frame(band(this.edges.concat, pointed.head, heads)),
    ];
  }

  cellMark({ name, head, row, column }, { numbers, header }) {
    const lane = LANE.includes(name);
    const own = OF_KV.includes(name) ? Math.floor(head / header.sizes.group) : head;
    const box = this.box(name, lane ? own : null);
    if (!box) return [];
    const { rows, columns } = numbers.matrix(name, box.head);
    const [width, height] = [box.width / columns, box.height / rows];
    return [make("rect", { x: box.x + column * width - 1, y: box.y + row * height - 1, width: width + 2, height: height + 2, class: "th-cell" })];
  }
}

function columnFrame(box, column, columns) {
  const wide = Math.max(box.width / columns, LEAST_COLUMN);
  const x = box.x + ((column + 0.5) * box.width) / columns - wide / 2;
  return { x: x - 0.5, y: box.y - 1.5, width: wide + 1, height: box.height + 3 };
}

/** A frame that is seen on dark and on light numbers alike. */
function framed(place, kind, data) {
  const own = make("rect", { ...place, class: kind, ...data });
  return [make("rect", { ...place, class: "th-halo" }), own];
}

const rightOf = (box) => ({ ...box, x: box.x + box.width });
const leftOf = (box) => box;

function make(tag, values) {
  return set(document.createElementNS(SVG, tag), values);
}

function set(node, values) {
  for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
  return node;
}

function group(part) {
  return make("g", { "data-part": part });
}

function text(words, x, y, kind, index = "") {
  const made = make("text", { x, y, class: kind, "text-anchor": "middle" });
  made.textContent = words;
  if (index) {
    const low = make("tspan", { dy: "0.25em", "font-size": "0.75em" });
    low.textContent = index;
    made.append(low);
  }
  return made;
}

/** How wide a word is, in letters: a Chinese character counts twice. */
function letters(word) {
  return [...word].reduce((sum, one) => sum + (one > "\u2e80" ? 2 : 1), 0);
}

/** Long words are cut where there is no room, never the ones in the row above. */
function shorten(word, most) {
  const parts = [...word];
  return parts.length <= most ? word : `${parts.slice(0, most - 1).join("")}…`;
}
