// Where everything on the stage lies: numbers only, no elements. Heights are to scale: a row of any
// tensor is as high as a row of any other, unless `broken` says that a true scale did not fit.

export const ORDER = ["x", "q", "k", "v", "q_rot", "k_rot", "v_band", "pattern", "heads", "concat", "out", "residual"];
export const LANE = ["q_rot", "k_rot", "v_band", "pattern", "heads"];
export const OF_KV = ["k_rot", "v_band"];
// Between each block and the next, in letters.
const GAPS = [2.5, 0.55, 0.55, 3.3, 0.55, 0.55, 1.6, 1.5, 2.3, 2.7, 2.3];
const SMALL_GAPS = [1, 0.3, 0.3, 1.2, 0.3, 0.3, 0.45, 0.45, 1.7, 1.2, 1];
const WIDEST = 96; // pixels of a block
const TALLEST = 130; // pixels of a lane
const LEAST = 10; // pixels of a block that would be lower to scale
const LEAST_WIDTH = 41; // letters; a narrower window scrolls over the stage
const NARROW = 0.75; // of the gaps there

/** The stage's places for a width and a layer's sizes.
 *  `sizes`: tokens, heads, kvHeads, dModel, dHead, dValue, columns; `open`: the chosen head;
 *  `tall`: the height it is to have, where it is given; `low`: whether the window is a low one. */
export function layOut({ width, letter, sizes, open, small, tall = null, low = false }) {
  const wide = small ? width : Math.max(width, LEAST_WIDTH * letter);
  const top = small ? 1.5 * letter : 3.1 * letter;
  const foot = small ? 0.5 * letter : 2.7 * letter;
  const body = small ? 5.2 * letter : tall ? Math.max(8 * letter, tall - top - foot) : (low ? 17.5 : 21.6) * letter;
  const room = small ? 0 : 3 * letter; // over the open lane, for words and ribbons
  const { heads, kvHeads } = sizes;
  const gap = small ? 1 : Math.max(1, Math.min(0.55 * letter, (3.4 * letter) / heads));
  const lane = Math.min(small ? Infinity : TALLEST, (body - room - gap * (heads - 1)) / heads);
  const row = lane / Math.max(sizes.dHead, sizes.dValue);
  const lanes = placeLanes({ heads, lane, gap, room, top, open });
  const bottom = lanes.at(-1).y + lane;
  const middle = (top + bottom) / 2;
  const most = bottom - top;
  const { x, block } = placeColumns({ wide, letter, columns: sizes.columns, gaps: small ? SMALL_GAPS : wide > width ? GAPS.map((gap) => gap * NARROW) : GAPS, margins: small ? [0.6, 1.1] : [2.3, 1] });
  const heightOf = {
    x: row * sizes.dModel, out: row * sizes.dModel, residual: row * sizes.dModel,
    q: lane * heads, k: lane * kvHeads, v: lane * kvHeads, concat: lane * heads,
  };
  const boxes = [];
  for (const [place, name] of ORDER.entries()) {
    if (!LANE.includes(name)) {
      const height = Math.min(most, Math.max(LEAST, heightOf[name]));
      boxes.push({
        name, head: null, x: x[place], y: middle - height / 2, width: block, height,
        isBroken: Math.abs(height - heightOf[name]) > 0.5,
      });
      continue;
    }
    const count = OF_KV.includes(name) ? kvHeads : heads;
    for (let head = 0; head < count; head += 1) {
      const group = heads / count;
      const first = lanes[head * group];
      const last = lanes[(head + 1) * group - 1];
      const y = group === 1 ? first.y : (first.y + last.y) / 2;
      boxes.push({ name, head, x: x[place], y, width: block, height: lane, isBroken: false });
    }
  }
  return { width: wide, height: bottom + foot, top, bottom, middle, lane, gap, room, lanes, block, boxes, letter, foot };
}

function placeLanes({ heads, lane, gap, room, top, open }) {
  const lanes = [];
  let y = top;
  for (let head = 0; head < heads; head += 1) {
    if (head === open) y += room;
    lanes.push({ head, y, height: lane });
    y += lane + gap;
  }
  return lanes;
}

/** The left edge of each column of blocks, and a block's width: whole pixels a token where it can. */
function placeColumns({ wide, letter, columns, gaps, margins }) {
  const [left, right] = margins.map((margin) => margin * letter);
  const spare = wide - left - right - gaps.reduce((sum, gap) => sum + gap * letter, 0);
  let block = Math.min(WIDEST, spare / ORDER.length);
  if (columns <= block / 2) block = columns * Math.floor(block / columns);
  const stretch = (spare - block * ORDER.length) / gaps.length;
  const x = [left];
  for (const gap of gaps) x.push(x.at(-1) + block + gap * letter + stretch);
  return { x: x.map((place) => Math.round(place)), block };
}

/** The block under a place of the stage: its box, and the row and column as shares of it. */
export function boxAt(layout, left, top) {
  for (const box of layout.boxes) {
    const across = (left - box.x) / box.width;
    const down = (top - box.y) / box.height;
    if (across >= 0 && across < 1 && down >= 0 && down < 1) return { box, across, down };
  }
  return null;
}

/** The edges of band `head` of a whole block. */
export function band(box, head, count) {
  const height = box.height / count;
  return { x: box.x, y: box.y + head * height, width: box.width, height };
}

/** A ribbon from one vertical edge to another: a filled path that keeps its heights. */
export function flow(from, to) {
  const pull = (to.x - from.x) / 2;
  const curve = (y0, y1, x0, x1, turn) => `C${x0 + turn} ${y0} ${x1 - turn} ${y1} ${x1} ${y1}`;
  return `M${from.x} ${from.y}${curve(from.y, to.y, from.x, to.x, pull)}V${to.y + to.height}` +
    `${curve(to.y + to.height, from.y + from.height, to.x, from.x, -pull)}Z`;
}
