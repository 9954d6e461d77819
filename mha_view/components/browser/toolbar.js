// Under a figure: its numbers as a table, and files to take away.

import { fill, formatNumber } from "./cells.js";
import { element } from "./dom.js";
import { csv, npz, png, save, svg } from "./files.js";
import { figurePage } from "./saved.js";
import { imageOf, sheetOf, sourceOf } from "./sheet.js";

const WIDE = 420; // pixels; from here on the buttons may stand beside the axis' title
const LETTER = 13; // pixels
const BUTTONS = 150; // pixels, on either side of a title in the middle
const MOST_ROWS = 64;
const MOST_COLUMNS = 48;
const FORMATS = ["slide", "print", "svg", "html", "csv", "npz"];

export function addToolbar(view) {
  const { header } = view;
  view.bar ??= build(view);
  view.bar.hidden = !header.toolbar;
  view.root.classList.toggle("th-wide", hasRoomBeside(view.root.clientWidth, header));
  const { table, menu } = view.bar.parts;
  const { words } = header;
  table.textContent = words.table ?? "Table";
  menu.firstChild.textContent = words.save ?? "⋯";
  for (const [format, button] of Object.entries(view.bar.parts.formats)) {
    button.textContent = words[`save_${format}`] ?? format;
    button.hidden = (format === "csv" || format === "npz") && !hasArrays(header);
  }
  deliver(view);
}

/** Whether the buttons fit beside the title of the axis under the picture; without a title they
 *  would lie on the axis' labels. */
function hasRoomBeside(width, { figure, tiles }) {
  if (width < WIDE) return false;
  if (!figure || tiles) return true;
  const titles = Object.entries(figure.layout ?? {})
    .filter(([name, axis]) => /^xaxis\d*$/.test(name) && axis.visible !== false)
    .map(([, { title }]) => title?.text ?? "");
  const longest = Math.max(0, ...titles.map(lengthOf));
  return longest > 0 && longest < width - 2 * BUTTONS;
}

/** Roughly, in pixels: a Chinese character is as wide as it is high. */
const lengthOf = (words) => [...words].reduce((sum, letter) => sum + LETTER * (letter > "\u2e80" ? 1 : 0.5), 0);

const hasArrays = ({ export: given }) => given?.names?.length > 0;

function build(view) {
  const bar = element("div", "th-bar");
  const table = element("button", "th-button");
  const menu = element("details", "th-menu");
  const list = element("div", "th-list");
  const formats = Object.fromEntries(FORMATS.map((format) => [format, element("button", "th-button")]));
  table.setAttribute("aria-expanded", "false");
  table.addEventListener("click", () => toggleTable(view, table));
  for (const [format, button] of Object.entries(formats)) {
    button.addEventListener("click", () => {
      menu.open = false;
      menu.firstChild.focus();
      saveAs(view, format);
    });
  }
  list.append(...Object.values(formats));
  menu.append(element("summary", "th-button"), list);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.firstChild.focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(event.relatedTarget)) menu.open = false;
  });
  bar.append(table, menu);
  bar.parts = { table, menu, formats };
  (view.barPlace ?? view.root).append(bar);
  return bar;
}

// --- Downloads -----------------------------------------------------------------------------

async function saveAs(view, format) {
  const { header } = view;
  const given = { name: "figure", settings: {}, ...header.export };
  const settings = { ...given.settings, figure: given.name };
  const name = `${given.name}.${format}`;
  if (format === "csv" || format === "npz") {
    if (!given.arrays) return ask(view, format);
    return save((format === "csv" ? csv : npz)({ ...given, settings }), name);
  }
  if (format === "html") return save(await figurePage(view, settings), name);
  const sheet = await sheetOf(view, format, settings);
  if (format === "svg") return save(svg(sourceOf(sheet)), name);
  const told = { Title: sheet.about.title, Description: header.alt, Source: sheet.about.address };
  return save(png(await imageOf(sheet), sheet.pixels, { ...told, settings: JSON.stringify(settings) }),
    `${given.name}-${format}.png`);
}

/** Large arrays wait on the server: asks for them, and saves them when they are here. */
function ask(view, format) {
  view.wantedFormat = format;
  view.component.setStateValue("wanted", Date.now());
}

function deliver(view) {
  const { export: given } = view.header;
  if (!view.wantedFormat || !given?.delivery || view.delivered === given.delivery) return;
  view.delivered = given.delivery;
  saveAs(view, view.wantedFormat);
  view.wantedFormat = null;
}

// --- The table -----------------------------------------------------------------------------

function toggleTable(view, button) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!isOpen));
  view.table?.remove();
  view.table = view.redrawTable = null;
  if (isOpen) return;
  view.table = element("div", "th-table");
  view.root.append(view.table);
  view.redrawTable = () => fillTable(view);
  fillTable(view);
}

function fillTable(view) {
  const matrices = view.matrices.map((matrix) => matrixSheet(view, matrix));
  const sheets = matrices.length ? matrices : view.sheets();
  const picked = view.matrices.findIndex((matrix) =>
    view.picked && matrix.figure === view.picked.figure && matrix.head === view.picked.head);
  const chosen = Math.min(view.sheet ?? Math.max(picked, 0), sheets.length - 1);
  view.table.replaceChildren();
  if (!sheets.length) return;
  if (sheets.length > 1) view.table.append(chooser(view, sheets, chosen));
  view.table.append(...drawSheet(sheets[chosen], view.header));
}

function matrixSheet(view, matrix) {
  const { words, figure } = view.header;
  const labels = figure?.layout?.meta ?? {};
  const list = (own, shared, count) =>
    Array.from({ length: count }, (_, index) => (own ?? shared)?.[index] ?? String(index));
  return {
    title: fill(words.matrix ?? "{figure} {head}", { figure: matrix.figure, head: matrix.head }),
    rows: list(matrix.rows, labels.rows, matrix.height),
    columns: list(matrix.columns, labels.columns, matrix.breadth),
    at: matrix.valueAt,
    picked: view.picked?.figure === matrix.figure && view.picked?.head === matrix.head ? view.picked : null,
  };
}

function chooser(view, sheets, chosen) {
  const label = element("label", "", `${view.header.words.table_of ?? ""} `);
  const select = element("select", "");
  select.append(...sheets.map(({ title }, index) => new Option(title, index, false, index === chosen)));
  select.addEventListener("change", () => {
    view.sheet = Number(select.value);
    fillTable(view);
    view.table.querySelector("select").focus();
  });
  label.append(select);
  return label;
}

function drawSheet({ title, rows, columns, at, picked }, { words }) {
  const [high, wide] = [Math.min(rows.length, MOST_ROWS), Math.min(columns.length, MOST_COLUMNS)];
  const table = element("table", "");
  table.createCaption().textContent = title;
  const head = table.createTHead().insertRow();
  const heading = (scope, content) => {
    const cell = element("th", "", content);
    cell.scope = scope;
    return cell;
  };
  head.append(element("td", ""), ...columns.slice(0, wide).map((name) => heading("col", name)));
  const body = table.createTBody();
  for (let row = 0; row < high; row += 1) {
    const line = body.insertRow();
    line.append(heading("row", rows[row]));
    for (let column = 0; column < wide; column += 1) {
      const value = at(row, column);
      const cell = line.insertCell();
      cell.textContent = typeof value === "string" ? value : formatNumber(value, words);
      if (picked?.row === row && picked.column === column) cell.className = "th-picked";
    }
  }
  const scroller = element("div", "th-scroll");
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-label", title);
  scroller.append(table);
  if (high === rows.length && wide === columns.length) return [scroller];
  const parts = { rows: high, all_rows: rows.length, columns: wide, all_columns: columns.length };
  return [scroller, element("p", "th-note", fill(words.table_cut ?? "", parts))];
}

