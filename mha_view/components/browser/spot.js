// The one token and the one head that a page is about, marked in a picture: the token's row or
// column is outlined, the rows of other heads recede.

const VEIL = 0.62;

/** A rectangle over a place [left, right, top, bottom] on a matrix's axes. */
export function rectangle(matrix, [x0, x1, y0, y1], more) {
  return {
    type: "rect", xref: matrix.xaxis, yref: matrix.yaxis, x0, x1, y0, y1,
    fillcolor: "rgba(0,0,0,0)", layer: "above", ...more,
  };
}

/** Shapes that mark `place` on `axis` ("row" or "column") of each matrix and, where `band` is
 *  given as [first, after], veil what lies in other rows and in other columns. */
export function spotMarks(matrices, { axis, place, band }, theme) {
  return matrices.flatMap((matrix) => {
    const { height, breadth } = matrix;
    if (place >= (axis === "row" ? height : breadth)) return [];
    const part = (top, bottom, left, right) => [
      ...edges(matrix.x, matrix.left, left, right), ...edges(matrix.y, matrix.top, top, bottom),
    ];
    const line = { color: theme.text, width: 1.5 };
    const token = axis === "row" ? part(place, place + 1, 0, breadth) : part(0, height, place, place + 1);
    const marks = [rectangle(matrix, token, { line })];
    if (!band) return marks;
    const [first, after] = band;
    const veiled = [[0, first], [after, height]].flatMap(([top, bottom]) =>
      [[0, place], [place + 1, breadth]].map(([left, right]) => [top, bottom, left, right]));
    const veils = veiled
      .filter(([top, bottom, left, right]) => bottom > top && right > left)
      .map((edge) => rectangle(matrix, part(...edge), {
        line: { width: 0 }, fillcolor: theme.paper, opacity: VEIL,
      }));
    return [...veils, ...marks];
  });
}

/** Where the cells from `from` to before `to` begin and end on an axis. */
function edges(at, start, from, to) {
  const half = (at(1) - at(0)) / 2 || 0.5;
  return [at(start + from) - half, at(start + to - 1) + half];
}
