// Pages that work alone: the figures as drawings, what a cell says, and the settings in one file.

import { NUMPY_TYPES } from "./files.js";
import { aboutOf } from "./sheet.js";
import { readTheme } from "./theme.js";

export const escapeHtml = (value) =>
  String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/** One page; `figures` are what is drawn at the places of `body`: its SVG, its matrices. */
export async function standalone({ body, figures, settings, title, style, words }) {
  const cells = await (await fetch(new URL("cells.js", import.meta.url))).text();
  const inline = (source) => source.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
  const json = (value) => JSON.stringify(value, packArrays).replace(/</g, "\\u003c");
  const live = await squeeze(json({ figures: figures.map(({ matrices }) => matrices), words }));
  return new Blob([`<!doctype html>
<html lang="${escapeHtml(document.documentElement.lang || "en")}">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style.replace(/<\//g, "<\\/")}
${FIGURE}</style>
</head>
<body>
<script type="application/json" id="settings">${json(settings)}</script>
<script type="text/plain" id="figures">${live}</script>
${body}
<p id="cell" role="status"></p>
<script type="module">${inline(cells)}
${boot}
</script>
</body></html>
`], { type: "text/html" });
}

/** JSON of many numbers in less than half of its letters: deflated, then base64. */
async function squeeze(text) {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return btoa(latin(new Uint8Array(await new Response(packed).arrayBuffer())));
}

/** One figure, with what is said round it. */
export async function figurePage(view, settings) {
  const { paper, text, font } = readTheme(view.root);
  const { title, sentence, facts, link, address } = aboutOf(view);
  const drawn = await view.saved();
  const lines = (...texts) => texts.filter(Boolean).map((line) => `<p>${escapeHtml(line)}</p>`).join("\n");
  return standalone({
    body: `<h1>${escapeHtml(title)}</h1>
${lines(sentence, facts)}
${place(0, view.header.alt, drawn)}
${lines(...view.remarks)}
<p><a href="${escapeHtml(address)}">${escapeHtml(link)}</a></p>`,
    figures: [drawn], settings, title, words: view.header.words,
    style: `body { margin: 1.5rem; background: ${paper}; color: ${text}; font-family: ${font}; } a { color: inherit; word-break: break-all; }`,
  });
}

const FIGURE = ".saved-figure > svg { max-width: 100%; height: auto; } .saved-figure { cursor: crosshair; }";

/** The nth figure at its place. */
export function place(index, alt, { svg, width, height }) {
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) svg.setAttribute(name, value);
  const drawn = new XMLSerializer().serializeToString(svg);
  return `<div id="figure-${index}" class="saved-figure" role="img" aria-label="${escapeHtml(alt)}">${drawn}</div>`;
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

// Runs in the saved page, after cells.js: what lies under the pointer is said.
const boot = `
const packed = Uint8Array.from(atob(document.getElementById("figures").textContent), (letter) => letter.charCodeAt(0));
const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const { figures, words } = await new Response(plain).json();
const types = { u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array,
  u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
const unpack = ({ dtype, bdata }) =>
  new types[dtype](Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0)).buffer);
for (const [index, matrices] of figures.entries()) {
  for (const matrix of matrices) {
    const values = unpack(matrix.values);
    matrix.valueAt = (row, column) => values[row * matrix.breadth + column];
  }
  const node = document.getElementById("figure-" + index);
  const svg = node.querySelector("svg");
  const say = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const found = cellUnder(matrices, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    if (found) document.getElementById("cell").textContent = describe(found.matrix, found, words);
  };
  node.addEventListener("pointermove", say);
  node.addEventListener("click", say);
}
`;
