// Which cell of which matrix: from a figure's heatmaps to (figure, head, row, column) and back.
// This file imports nothing, so that a figure saved as a page of its own can carry it along.

export const NARROW = 560; // pixels; below it a figure counts as one on a phone
const TITLE_SPACE = 1.9; // room for a tile's title, in letters' heights
const SMALLEST_MARK = 10; // pixels; a smaller outline could not be seen

/** Lays a trace's tiles out, if it has any, and colours by the transformed value.
 *  Returns the trace as Plotly draws it, its matrices, and the layout the tiles need. */
export function arrange(trace, index, width, letter, tall = null, across = null) {
  const meta = trace.meta ?? {};
  if (!trace.z?.values || trace.z.shape.length < 2) return { trace, matrices: [], layout: {} };
  const grid = tileGrid(trace, meta, width, letter, tall, across);
  trace = meta.keep ? { ...trace, z: { shape: trace.z.shape, values: visible(trace, meta) } } : trace;
  const drawn = { ...trace, z: coloured(trace, meta, grid) };
  if (meta.figure === undefined) return { trace: drawn, matrices: [], layout: {} };
  if (!trace.hovertemplate && !trace.hoverinfo) drawn.hoverinfo = "none";
  if (grid?.cell >= 8) drawn.xgap = drawn.ygap = drawn.xgap ?? 1;
  return { trace: drawn, matrices: matricesOf(trace, index, meta, grid), layout: grid?.layout ?? {} };
}

/** Where each tile of a [head, row, column] array goes, `across` side by side if that is given; null
 *  for a plain matrix. */
function tileGrid(trace, meta, width, letter, tall, across) {
  const tile = meta.tile;
  if (!tile) return null;
  if (trace.z.shape.length === 2) {
    const { rows, columns, n_rows: height, n_columns: breadth, gap } = tile;
    return { rows, columns, height, breadth, rowGap: gap, columnGap: gap, given: true };
  }
  const [count, height, breadth] = trace.z.shape;
  const wanted = across ?? (width < NARROW ? tile.narrow ?? 2 : tile.columns ?? 4);
  const space = 1.1 * letter;
  const largest = (columns) => cellIn({ columns, count, height, breadth, width, letter, space, tall });
  const columns = tall ? bestColumns(count, largest) : Math.max(1, Math.min(wanted, count));
  const rows = Math.ceil(count / columns);
  const cell = Math.min(tall ? Infinity : tile.largest ?? 26, largest(columns));
  const columnGap = Math.max(tile.gap ?? 1, Math.ceil(space / cell));
  const rowGap = Math.max(tile.gap ?? 1, Math.ceil((letter * TITLE_SPACE) / cell));
  const grid = { rows, columns, height, breadth, rowGap, columnGap, cell, count };
  grid.layout = { cells: gridSize(grid), titles: tile.titles ?? [], grid };
  return grid;
}

/** The largest cell with which so many tiles stand side by side, under a height where one is given. */
function cellIn({ columns, count, height, breadth, width, letter, space, tall }) {
  const across = (width - (columns - 1) * space) / (columns * breadth);
  const rows = Math.ceil(count / columns);
  return tall ? Math.max(2, Math.min(across, (tall - rows * letter * TITLE_SPACE) / (rows * height))) : across;
}

/** How many tiles side by side give the largest cells. */
function bestColumns(count, largest) {
  let best = 1;
  for (let columns = 2; columns <= count; columns += 1) if (largest(columns) > largest(best)) best = columns;
  return best;
}

/** How many cells the whole grid is wide and high, its titles' room included. */
function gridSize({ rows, columns, height, breadth, rowGap, columnGap }) {
  return { wide: columns * (breadth + columnGap) - columnGap, high: rows * (height + rowGap) };
}

/** The upper left cell of a tile in the grid. */
export function tileCorner(grid, place) {
  const row = Math.floor(place / grid.columns);
  const column = place % grid.columns;
  const titles = grid.given ? 0 : grid.rowGap;
  return {
    top: row * (grid.height + grid.rowGap) + titles,
    left: column * (grid.breadth + grid.columnGap),
  };
}

/** What Plotly colours: the values, laid out, through the transform. */
function coloured(trace, meta, grid) {
  const values = transformed(trace, meta);
  const [height, breadth] = trace.z.shape.slice(-2);
  if (trace.z.shape.length === 2) {
    return Array.from({ length: height }, (_, row) =>
      values.subarray(row * breadth, (row + 1) * breadth));
  }
  const { wide, high } = gridSize(grid);
  const field = new Float32Array(wide * high).fill(NaN);
  for (let head = 0; head < grid.count; head += 1) {
    const { top, left } = tileCorner(grid, head);
    for (let row = 0; row < height; row += 1) {
      const from = (head * height + row) * breadth;
      field.set(values.subarray(from, from + breadth), (top + row) * wide + left);
    }
  }
  return Array.from({ length: high }, (_, row) => field.subarray(row * wide, (row + 1) * wide));
}

/** The values with NaN where `meta.keep` says that nothing may be looked at. */
function visible(trace, { keep }) {
  if (!keep) return trace.z.values;
  const size = keep.values.length;
  return Float32Array.from(trace.z.values, (value, place) => (keep.values[place % size] ? value : NaN));
}

function transformed(trace, meta) {
  if (meta.transform === "sqrt") return Float32Array.from(trace.z.values, Math.sqrt);
  if (meta.transform === "log") {
    const least = trace.zmin ?? -4;
    return Float32Array.from(trace.z.values, (value) => Math.max(Math.log10(value), least));
  }
  return trace.z.values;
}

/** Every matrix a reader can pick a cell of, with where it lies and what its numbers are. */
function matricesOf(trace, index, meta, grid) {
  const heads = meta.heads ?? [meta.head ?? 0];
  const [height, breadth] = grid ? [grid.height, grid.breadth] : trace.z.shape;
  const flat = trace.z.shape.length === 2;
  return heads.map((head, place) => {
    const corner = grid ? tileCorner(grid, place) : { top: 0, left: 0 };
    const stride = flat ? trace.z.shape[1] : breadth;
    const start = flat ? corner.top * stride + corner.left : place * height * breadth;
    return {
      figure: meta.figure, head, trace: index, height, breadth, ...corner,
      above: grid?.cell ? grid.rowGap - 1 : 0,
      rows: meta.rows, columns: meta.columns, hover: meta.hover,
      xaxis: trace.xaxis ?? "x", yaxis: trace.yaxis ?? "y",
      x: axisPlaces(trace.x, trace.x0, trace.dx), y: axisPlaces(trace.y, trace.y0, trace.dy),
      valueAt: (row, column) => trace.z.values[start + row * stride + column],
    };
  });
}

/** Where the nth column (or row) of a heatmap lies on its axis. */
function axisPlaces(given, first = 0, step = 1) {
  const places = given?.values ?? given;
  return (index) => (places?.length ? Number(places[index]) : first + index * step);
}

/** The cell that Plotly's event points at, or null. */
export function cellAt(matrices, point) {
  const [row, column] = point.pointIndex ?? point.pointNumber ?? [];
  for (const matrix of matrices) {
    if (matrix.trace !== point.curveNumber) continue;
    const place = { row: row - matrix.top, column: column - matrix.left };
    if (isInside(matrix, place)) return { figure: matrix.figure, head: matrix.head, ...place };
  }
  return null;
}

function isInside(matrix, { row, column }) {
  return row >= 0 && column >= 0 && row < matrix.height && column < matrix.breadth;
}

/** The cell under a point of a drawing, with its matrix, or null. `matrix.place` says where its axes
 *  lie, `matrix.at` where its first cell lies on them and how far apart cells are. */
export function cellUnder(matrices, left, top) {
  for (const matrix of matrices) {
    const { place, at } = matrix;
    const along = (offset, start, length, [first, last], [origin, step]) =>
      Math.round((first + ((offset - start) / length) * (last - first) - origin) / step);
    const isOn = left >= place.left && top >= place.top && left <= place.left + place.width && top <= place.top + place.height;
    const row = along(top, place.top, place.height, place.y, at.y);
    const column = along(left, place.left, place.width, place.x, at.x);
    if (isOn && isInside(matrix, { row, column })) return { matrix, row, column };
  }
  return null;
}

/** The matrix a cell belongs to, if this figure has it. */
export function matrixOf(matrices, cell) {
  if (!cell) return undefined;
  return matrices.find((matrix) =>
    matrix.figure === cell.figure && matrix.head === cell.head && isInside(matrix, cell));
}

/** The cell a key moves to; undefined if the key is none of ours. */
export function moved(matrices, cell, key) {
  const matrix = matrixOf(matrices, cell);
  if (!matrix) return key.startsWith("Arrow") ? firstCell(matrices[0]) : undefined;
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const limit = (value, size) => Math.min(Math.max(value, 0), size - 1);
  if (key in steps) {
    const row = limit(cell.row + steps[key][0], matrix.height);
    return { ...cell, row, column: limit(cell.column + steps[key][1], matrix.breadth) };
  }
  if (key === "Home") return { ...cell, column: 0 };
  if (key === "End") return { ...cell, column: matrix.breadth - 1 };
  if (key !== "PageUp" && key !== "PageDown") return undefined;
  const turn = matrices.indexOf(matrix) + (key === "PageUp" ? -1 : 1);
  const next = matrices[limit(turn, matrices.length)];
  const { figure, head } = next;
  return { figure, head, row: limit(cell.row, next.height), column: limit(cell.column, next.breadth) };
}

function firstCell(matrix) {
  return matrix && { figure: matrix.figure, head: matrix.head, row: 0, column: 0 };
}

/** A cell's outline on its axes, as [left, right, top, bottom], never too small to see. */
export function outline(matrix, cell, pixelsPerUnit) {
  const [row, column] = [matrix.top + cell.row, matrix.left + cell.column];
  const around = (place, index, pixels) => {
    const half = Math.abs(place(1) - place(0)) / 2 || 0.5;
    const reach = Math.max(half, SMALLEST_MARK / 2 / Math.abs(pixels || Infinity));
    return [place(index) - reach, place(index) + reach];
  };
  return [...around(matrix.x, column, pixelsPerUnit.x), ...around(matrix.y, row, pixelsPerUnit.y)];
}

/** The outline of the whole matrix, a tile's title included. */
export function frame(matrix) {
  const span = (place, start, count) => {
    const half = (place(1) - place(0)) / 2 || 0.5;
    return [place(start) - half, place(start + count - 1) + half];
  };
  return [
    ...span(matrix.x, matrix.left, matrix.breadth),
    ...span(matrix.y, matrix.top - matrix.above, matrix.height + matrix.above),
  ];
}

/** What a cell says: "head 3 · it looks at cat: 0.884". */
export function describe(matrix, cell, words, labels = {}) {
  const name = (own, shared, index) => (own ?? shared)?.[index] ?? String(index);
  const parts = {
    head: matrix.head,
    row: name(matrix.rows, labels.rows, cell.row),
    column: name(matrix.columns, labels.columns, cell.column),
    value: formatNumber(matrix.valueAt(cell.row, cell.column), words),
  };
  return fill(matrix.hover ?? labels.hover ?? words.cell ?? "{value}", parts);
}

export function fill(text, parts) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => parts[name] ?? whole);
}

export function formatNumber(value, words = {}) {
  if (value === undefined || Number.isNaN(value)) return words.empty ?? "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value).replace("-", "−");
  const text = size >= 0.0005 && size < 1e5 ? value.toFixed(3) : value.toExponential(2);
  return text.replace("-", "−");
}
