// Pages that work alone: Plotly, the figures, what a cell says, and the settings in one file.

import { NUMPY_TYPES } from "./files.js";

export const escapeHtml = (value) =>
  String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/** One page.
 *  `figures` are `{ figure, matrices, alt }`; the nth is drawn into `#figure-n` of `body`. */
export async function standalone({ body, figures, settings, title, style, words, plotly }) {
  const [script, cells] = await Promise.all(
    [plotly, new URL("cells.js", import.meta.url)].map(async (address) => (await fetch(address)).text()));
  const inline = (source) => source.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
  const json = (value) => JSON.stringify(value, packArrays).replace(/</g, "\\u003c");
  return new Blob([`<!doctype html>
<html lang="${escapeHtml(document.documentElement.lang || "en")}">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style.replace(/<\//g, "<\\/")}</style>
</head>
<body>
<script type="application/json" id="settings">${json(settings)}</script>
<script type="application/json" id="figures">${json({ figures, words })}</script>
${body}
<p id="cell" role="status"></p>
<script>${figures.length ? inline(script) : ""}</script>
<script type="module">${inline(cells)}
${boot}
</script>
</body></html>
`], { type: "text/html" });
}

/** Where the nth figure is drawn. */
export function place(index, alt) {
  return `<div id="figure-${index}" role="img" aria-label="${escapeHtml(alt)}"></div>`;
}

/** Typed arrays, and matrices given as rows of them, in Plotly's own notation. */
function packArrays(name, value) {
  const isMatrix = Array.isArray(value) && ArrayBuffer.isView(value[0]);
  if (!isMatrix && !ArrayBuffer.isView(value)) return value;
  const rows = isMatrix ? value : [value];
  const letters = rows.map((row) => latin(new Uint8Array(row.buffer, row.byteOffset, row.byteLength)));
  const packed = { dtype: NUMPY_TYPES.get(rows[0].constructor).slice(1), bdata: btoa(letters.join("")) };
  return isMatrix ? { ...packed, shape: `${value.length},${value[0].length}` } : packed;
}

/** Bytes as a string of one letter each, a piece at a time: a call takes only so many arguments. */
function latin(bytes) {
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 8192) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  }
  return pieces.join("");
}

// Runs in the saved page, after cells.js.
const boot = `
const { figures, words } = JSON.parse(document.getElementById("figures").textContent);
const types = { u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array,
  u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
const unpack = ({ dtype, bdata }) =>
  new types[dtype](Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0)).buffer);
for (const [index, { figure, matrices }] of figures.entries()) {
  for (const matrix of matrices) {
    const values = unpack(matrix.values);
    matrix.valueAt = (row, column) => values[row * matrix.breadth + column];
  }
  const node = document.getElementById("figure-" + index);
  await Plotly.newPlot(node, figure.data, figure.layout, { displayModeBar: false });
  const say = ({ points }) => {
    const cell = cellAt(matrices, points[0]);
    const matrix = matrixOf(matrices, cell);
    if (matrix) document.getElementById("cell").textContent = describe(matrix, cell, words);
  };
  node.on("plotly_hover", say);
  node.on("plotly_click", say);
}
`;
