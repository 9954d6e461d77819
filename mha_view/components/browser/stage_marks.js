// What a token, a head and a cell light on the stage. It follows the pointer, so nothing here asks
// the browser where anything lies, and only what has changed is touched.

import { band, LANE, OF_KV } from "./stage_layout.js";
import { follow, make } from "./stage_svg.js";

const LEAST_RIBBON = 0.005; // a thinner one would not be seen
const LEAST_NUMBER = 0.05;
const MOST_NUMBERS = 3;
const RIBBON = 0.8; // letters wide at a weight of 1
const LEAST_COLUMN = 3; // pixels of the mark around a column
const KINDS = ["veil", "lanes", "columns", "rows", "ribbons", "keys", "heads", "cell"];

export class Marks {
  constructor(board) {
    this.svg = make("svg", { class: "th-layer-lines th-layer-marks", "aria-hidden": "true" });
    this.groups = Object.fromEntries(KINDS.map((kind) => [kind, make("g")]));
    this.svg.append(...Object.values(this.groups));
    board.append(this.svg);
  }

  /** The places of a new drawing. */
  draw(layout, flows) {
    this.layout = layout;
    this.flows = flows;
    this.svg.setAttribute("width", layout.width);
    this.svg.setAttribute("height", layout.height);
    this.boxes = new Map(layout.boxes.map((box) => [`${box.name}.${box.head}`, box]));
  }

  box(name, head = null) {
    return this.boxes.get(`${name}.${head}`);
  }

  light({ token, head, pointed, view }) {
    if (!this.layout) return;
    const { header, numbers } = view;
    const heads = [head, pointed.head].filter((one) => one !== undefined);
    this.lightHeads(heads, numbers.columnOf(token), view);
    const open = !header.small;
    follow(this.groups.ribbons, open ? this.ribbons({ token, head, view }) : []);
    follow(this.groups.keys, open ? this.keyMarks({ token, head, pointed, view }) : []);
    follow(this.groups.heads, open ? this.headMarks(pointed, view) : []);
    follow(this.groups.cell, pointed.name ? this.cellMark(pointed, view) : []);
  }

  // --- By head -----------------------------------------------------------------------------

  /** The lanes that are lit, a veil over the others, and the token's column in every block. */
  lightHeads(heads, column, { header, numbers, player }) {
    const { group: shared } = header.sizes;
    const isLit = ({ name, head }) => head === null ||
      heads.some((lit) => head === (OF_KV.includes(name) ? Math.floor(lit / shared) : lit));
    let veil = "";
    let faint = "";
    const [columns, rows] = [[], []];
    for (const box of this.layout.boxes) {
      const lit = isLit(box);
      if (!lit && !header.small) veil += outline({ x: box.x - 2, y: box.y - 2, width: box.width + 4, height: box.height + 4 });
      if ((header.small && box.head !== null && box.head !== heads[0]) || !player.isAbout(box.name)) continue;
      const size = numbers.matrix(box.name, box.head);
      if (box.name === "pattern") {
        if (lit) rows.push(...framed(rowFrame(box, column, size.rows), "th-column", { "data-of": box.name, "data-row": column }));
      } else if (lit) {
        columns.push(...framed(columnFrame(box, column, size.columns), "th-column", { "data-of": box.name, "data-column": column }));
      } else {
        faint += outline(columnFrame(box, column, size.columns));
      }
    }
    if (faint) columns.push({ tag: "path", values: { d: faint, class: "th-column th-faint" } });
    follow(this.groups.veil, veil ? [{ tag: "path", values: { d: veil, class: "th-veil" } }] : []);
    follow(this.groups.columns, columns);
    follow(this.groups.rows, rows);
    follow(this.groups.lanes, ["cut", "stack"].filter((part) => player.isAbout(part)).flatMap((part) =>
      [...new Set(heads)].map((head) => ({
        tag: "path", values: { d: this.flows[part][head], class: "th-flow th-lit", style: `--head: ${header.colours[head]}` },
      }))));
  }

  // --- By token ----------------------------------------------------------------------------

  /** The strongest key, or the one pointed at: its column among keys and values, and its word. */
  keyMarks({ token, head, pointed, view }) {
    const { header, numbers, player } = view;
    const strongest = (numbers.row(head, token, LEAST_NUMBER) ?? [])[0];
    const key = pointed.key ?? strongest?.key;
    const kvHead = Math.floor(head / header.sizes.group);
    const { letter } = this.layout;
    const at = (box, place) => this.columnAt(box, place, view);
    const word = (box, place, role, row) => ({
      tag: "text", words: shorten(header.tokens[place], 9),
      values: { x: at(box, place), y: box.y - (0.4 + 1.05 * row) * letter, class: `th-word ${role}`, "text-anchor": "middle" },
    });
    const x = this.box("x");
    const isAboutX = player.isAbout("x");
    const made = [];
    // Two words that would touch stand one over the other.
    const room = [token, key].reduce((sum, place) => sum + letters(shorten(header.tokens[place] ?? "", 9)), 0) * 0.25 * letter + 4;
    const [own, other] = [this.box("q_rot", head), this.box("k_rot", kvHead)];
    const touches = key !== undefined && Math.abs(at(other, key) - at(own, token)) < room;
    if (isAboutX) made.push(word(x, token, "query", 0));
    if (player.isAbout("q_rot")) made.push(word(own, token, "query", touches ? 1 : 0));
    if (key === undefined) return made;
    const isNear = Math.abs(at(x, key) - at(x, token)) < room;
    if (isAboutX && key !== token) made.push(word(x, key, "key", isNear ? 1 : 0));
    if (player.isAbout("k_rot")) made.push(word(other, key, "key", 0));
    for (const name of OF_KV) {
      if (!player.isAbout(name)) continue;
      const box = this.box(name, kvHead);
      const column = numbers.columnOf(key);
      made.push(...framed(columnFrame(box, column, numbers.matrix(name, kvHead).columns), "th-column th-key", { "data-of": name, "data-column": column }));
    }
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
    const rise = room - 1.55 * letter;
    const told = row.filter(({ weight }) => weight >= LEAST_NUMBER).slice(0, MOST_NUMBERS);
    const isMany = told.length > 2;
    const x = isMany ? to.x + to.width : (from.x + to.x + to.width) / 2;
    const label = {
      tag: "text",
      values: { x, y: to.y - room + 0.95 * letter, class: "th-weights", "text-anchor": isMany ? "end" : "middle" },
      parts: told.flatMap(({ key, weight }, place) => [
        { tag: "tspan", values: { class: "key", dx: place ? 0.5 * letter : 0 }, words: `${shorten(header.tokens[key], 9)} ` },
        { tag: "tspan", values: { class: "pattern" }, words: weight.toFixed(3) },
      ]),
    };
    const end = { x: this.columnAt(to, token, view), y: to.y };
    const drawn = [...row].reverse().map(({ key, weight }) => ({
      tag: "path",
      values: {
        d: arc({ x: this.columnAt(from, key, view), y: from.y }, end, rise), class: "th-ribbon",
        "stroke-width": (RIBBON * letter * weight).toFixed(3), "data-key": key, "data-weight": weight,
      },
    }));
    return [label, ...drawn];
  }

  columnAt(box, token, { numbers }) {
    return box.x + ((numbers.columnOf(token) + 0.5) * box.width) / numbers.matrix(box.name, box.head).columns;
  }

  // --- By what is pointed at ---------------------------------------------------------------

  /** The lane and the bands of a head that is pointed at. */
  headMarks(pointed, { header }) {
    if (pointed.head === undefined) return [];
    const { heads, kvHeads, group: shared } = header.sizes;
    const style = `--head: ${header.colours[pointed.head]}`;
    const lane = this.layout.lanes[pointed.head];
    const [first, last] = [this.box("q_rot", 0), this.box("heads", 0)];
    const frame = (box) => ({
      tag: "rect", values: { x: box.x - 2, y: box.y - 1, width: box.width + 4, height: box.height + 2, rx: 2, class: "th-band", style },
    });
    const kv = Math.floor(pointed.head / shared);
    return [
      frame({ x: first.x - 2, y: lane.y - 1, width: last.x + last.width - first.x + 4, height: lane.height + 2 }),
      frame(band(this.box("q"), pointed.head, heads)), frame(band(this.box("k"), kv, kvHeads)),
      frame(band(this.box("v"), kv, kvHeads)), frame(band(this.box("concat"), pointed.head, heads)),
    ];
  }

  cellMark({ name, head, row, column }, { numbers, header }) {
    const own = OF_KV.includes(name) ? Math.floor(head / header.sizes.group) : head;
    const box = this.box(name, LANE.includes(name) ? own : null);
    if (!box) return [];
    const { rows, columns } = numbers.matrix(name, box.head);
    const [width, height] = [box.width / columns, box.height / rows];
    const place = { x: box.x + column * width - 1, y: box.y + row * height - 1, width: width + 2, height: height + 2 };
    return [{ tag: "rect", values: { ...place, class: "th-cell" } }];
  }
}

function columnFrame(box, column, columns) {
  const wide = Math.max(box.width / columns, LEAST_COLUMN);
  const x = box.x + ((column + 0.5) * box.width) / columns - wide / 2;
  return { x: x - 0.5, y: box.y - 1.5, width: wide + 1, height: box.height + 3 };
}

function rowFrame(box, row, rows) {
  const high = Math.max(box.height / rows, LEAST_COLUMN);
  const y = box.y + ((row + 0.5) * box.height) / rows - high / 2;
  return { x: box.x - 1.5, y: y - 0.5, width: box.width + 3, height: high + 1 };
}

/** A frame that is seen on dark and on light numbers alike. */
function framed(place, kind, data) {
  return [{ tag: "rect", values: { ...place, class: "th-halo" } }, { tag: "rect", values: { ...place, class: kind, ...data } }];
}

/** A box as a part of one path, for the many that are not looked at. */
function outline({ x, y, width, height }) {
  return `M${x} ${y}h${width}v${height}h${-width}z`;
}

/** An arc over the pattern, from a value's column to the column it is collected in. */
function arc(from, to, rise) {
  const top = Math.min(from.y, to.y) - rise / 0.75;
  return `M${from.x} ${from.y}C${from.x} ${top} ${to.x} ${top} ${to.x} ${to.y}`;
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
