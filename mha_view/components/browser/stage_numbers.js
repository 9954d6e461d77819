// The stage's numbers: which number is where, and what made it.

import { fill, formatNumber } from "./cells.js";

// A lane's block that is a band of a whole one.
const BAND_OF = { v_band: "v", heads: "concat" };
const MOST_TERMS = 3;

export class Numbers {
  constructor(header) {
    this.header = header;
    this.sizes = header.sizes;
  }

  /** A block's matrix: its rows and columns, each number, and how many numbers one stands for. */
  matrix(name, head, isTurned = true) {
    const blocks = this.header.blocks;
    const block = blocks[BAND_OF[name] ?? (isTurned ? name : name.replace("_rot", ""))];
    const { values, shape } = block.values;
    const [rows, columns] = shape.slice(-2);
    const bands = shape.length === 3 ? shape[0] : 1;
    const start = head === null ? 0 : head * rows;
    return {
      block, rows: head === null ? bands * rows : rows, columns, bandRows: rows,
      at: (row, column) => values[(start + row) * columns + column],
      isReady: values instanceof Uint8Array, step: block.step,
    };
  }

  /** The column a token lies in. */
  columnOf(token) {
    return Math.floor(token / this.header.blocks.x.step[1]);
  }

  /** What a column's tokens are called. */
  columnLabel(column) {
    const { tokens } = this.header;
    const across = this.header.blocks.x.step[1];
    const [first, last] = [column * across, Math.min((column + 1) * across, tokens.length) - 1];
    return first === last ? tokens[first] : `${tokens[first]} … ${tokens[last]}`;
  }

  /** A query's keys with their weights, strongest first: exact, none below `least`; null where only
   *  the server knows them. */
  row(head, query, least) {
    const { looks } = this.header;
    let found;
    if (this.header.blocks.x.step[1] === 1) {
      const { at, columns } = this.matrix("pattern", head);
      found = Array.from({ length: columns }, (_, key) => ({ key, weight: at(query, key) }));
    } else if (looks && head === this.header.head) {
      const most = looks.keys.shape[1];
      found = Array.from({ length: most }, (_, place) => ({
        key: looks.keys.values[query * most + place], weight: looks.weights.values[query * most + place],
      }));
    } else {
      return null;
    }
    return found.filter(({ weight }) => weight >= least).sort((a, b) => b.weight - a.weight);
  }

  /** A cell in words: what it is, its number, and what made it. */
  describe({ name, head, row, column }) {
    const { words, tokens } = this.header;
    const { block, at, step, rows } = this.matrix(name, head);
    const symbol = this.header.blocks[name].symbol.replace(/_k$/, head === null ? "" : subscript(head));
    const isPattern = name === "pattern";
    const rowLabel = isPattern ? this.columnLabel(row) : rowNumbers(row, step[0], this.header.blocks[name].rows, rows, block);
    const value = at(row, column);
    const title = `${symbol} [${rowLabel}, ${this.columnLabel(column)}] = ${formatNumber(value, words)}`;
    const isPooled = step[0] > 1 || step[1] > 1;
    if (isPooled) return { title, made: fill(words.cell_pooled ?? "", { rows: isPattern ? step[1] : step[0], columns: step[1] }) };
    return { title, made: this.made({ name, head, row, column, value, token: tokens[column], words }) };
  }

  made(cell) {
    const { name, head, row, token, words, value } = cell;
    const { dHead, dValue, group } = this.sizes;
    const say = (key, parts = {}) => fill(words[key] ?? "", { row, token, head, ...parts });
    if (name === "x") return say("cell_x");
    if (name === "q" || name === "k" || name === "v") return say("cell_projection", { matrix: `W_${name}`, symbol: name.toUpperCase(), head: Math.floor(row / (name === "v" ? dValue : dHead)) });
    if (name === "q_rot" || name === "k_rot") return this.turned(cell, say);
    if (name === "v_band") return say("cell_band", { whole: head * dValue + row, symbol: "V" });
    if (name === "pattern") return Number.isNaN(value) ? this.masked(cell, say) : this.weighed(cell, say);
    if (name === "heads") return this.collected(cell, say, Math.floor(head / group));
    if (name === "concat") return say("cell_concat", { head: Math.floor(row / dValue), own: row % dValue });
    if (name === "out") return say("cell_out");
    const out = this.matrix("out", null).at(row, cell.column);
    return say("cell_residual", { stream: formatNumber(value - out, words), out: formatNumber(out, words) });
  }

  masked({ row, column }, say) {
    const { tokens } = this.header;
    return say("cell_masked", { query: tokens[row], key: tokens[column] });
  }

  /** The weight's score, and the softmax over its row. */
  weighed({ head, row, column }, say) {
    const { scores, words } = this.header;
    if (!scores) return "";
    const size = scores.shape[2];
    const own = Array.from(scores.values.subarray((head * size + row) * size, (head * size + row + 1) * size));
    const { at } = this.matrix("pattern", head);
    const seen = own.filter((_, key) => !Number.isNaN(at(row, key)));
    const most = Math.max(...seen);
    const sum = seen.reduce((total, score) => total + Math.exp(score - most), 0);
    return say("cell_weight", {
      score: formatNumber(own[column], words), most: formatNumber(most, words), sum: formatNumber(sum, words), d: this.sizes.dHead,
    });
  }

  /** A turned pair: x cos φ − y sin φ. */
  turned({ name, head, row, column }, say) {
    const { rope, words } = this.header;
    if (!rope) return say("cell_still", { symbol: name[0].toUpperCase() });
    const pairs = rope.frequencies.size;
    if (row >= 2 * pairs) return say("cell_still", { symbol: name[0].toUpperCase() });
    const pair = rope.halves ? row % pairs : Math.floor(row / 2);
    const isFirst = rope.halves ? row < pairs : row % 2 === 0;
    const partner = rope.halves ? (isFirst ? row + pairs : row - pairs) : isFirst ? row + 1 : row - 1;
    const angle = rope.frequencies.values[pair] * rope.positions.values[column];
    const before = this.matrix(name, head, false);
    return say(isFirst ? "cell_turned_first" : "cell_turned_second", {
      own: formatNumber(before.at(row, column), words), other: formatNumber(before.at(partner, column), words),
      angle: angle.toFixed(2), place: rope.positions.values[column],
    });
  }

  /** The strongest terms of Σ weight × value. */
  collected({ head, row, column, token }, say, kvHead) {
    const { words, tokens } = this.header;
    const values = this.matrix("v_band", kvHead);
    const terms = (this.row(head, column, 0) ?? []).slice(0, MOST_TERMS).filter(({ weight }) => weight >= 0.0005)
      .map(({ key, weight }) => `${weight.toFixed(3)} · (${formatNumber(values.at(row, key), words)}) ${tokens[key]}`);
    return say("cell_head", { token, terms: terms.join(" + ") });
  }
}

/** Which rows of its tensor a drawn row stands for. */
function rowNumbers(row, down, rowsOfHead, drawnRows, block) {
  if (down === 1) return String(row);
  const bandRows = block.values.shape.at(-2);
  const start = Math.floor(row / bandRows) * rowsOfHead + (row % bandRows) * down;
  const end = Math.min(start + down, (Math.floor(row / bandRows) + 1) * rowsOfHead) - 1;
  return `${start}–${end}`;
}

export const subscript = (number) => String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);
