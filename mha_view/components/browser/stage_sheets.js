// The stage as a table: its blocks, a line each, and every block's numbers.

import { fill, formatNumber } from "./cells.js";
import { LANE } from "./stage_layout.js";

/** As the toolbar's table takes them. Of what has heads, the chosen head. */
export function sheetsOf({ blocks, words, sizes, head, tokens }, numbers) {
  const listed = Object.entries(blocks).map(([name, block]) => {
    const own = LANE.includes(name) ? (name === "k_rot" || name === "v_band" ? Math.floor(head / sizes.group) : head) : null;
    return { name, block, matrix: numbers.matrix(name, own), symbol: block.symbol.replace("_", " ") };
  });
  const overview = listed.map(({ block, matrix }) => {
    const seen = valuesOf(matrix).filter((value) => !Number.isNaN(value));
    return [block.label, block.shape, ...[Math.min, Math.max].map((best) => formatNumber(best(...seen), words))];
  });
  const about = {
    title: words.table_blocks ?? "", rows: listed.map(({ symbol }) => symbol),
    columns: ["table_what", "table_shape", "table_least", "table_most"].map((key) => words[key] ?? ""),
    at: (row, column) => overview[row][column],
  };
  return [about, ...listed.map(({ name, block, matrix, symbol }) => ({
    title: isPooled(matrix) ? `${symbol} · ${fill(words.cell_pooled ?? "", { rows: matrix.step[0], columns: matrix.step[1] })}` : `${symbol} · ${block.label}`,
    rows: Array.from({ length: matrix.rows }, (_, row) => (name === "pattern" ? numbers.columnLabel(row) : String(row * matrix.step[0]))),
    columns: Array.from({ length: matrix.columns }, (_, column) => numbers.columnLabel(column)),
    at: matrix.at,
  }))];
}

const isPooled = ({ step }) => step[0] > 1 || step[1] > 1;

function valuesOf({ rows, columns, at }) {
  return Array.from({ length: rows * columns }, (_, place) => at(Math.floor(place / columns), place % columns));
}
