// A figure drawn beside the page, as large as a file wants it, and where its axes lie then.

const CELL = 20; // pixels of a cell that its token fits beside
const LETTER = 14; // of those tokens
const INSET = 110; // about what labels take from the width
const ABOVE = 44; // about what a colour bar takes from the height
const BELOW = 90;
const [NARROWEST, WIDEST] = [600, 1100];

/** The figure of `view` as an SVG element with its size, and the place of each pair of axes in it:
 *  { left, top, width, height } in pixels, and in data what its edges are, `x` left and right, `y` top
 *  and bottom.
 *  As large as fills the `room` best; as on the page where that is null. */
export async function drawAside(view, room) {
  const { theme, hasTiles } = view.built;
  const plan = room && (hasTiles ? planTiles(view, room) : { width: planWidth(view, room) });
  const node = document.createElement("div");
  Object.assign(node.style, { position: "fixed", left: "-30000px", top: 0 });
  document.body.append(node);
  try {
    let built = plan ? view.build(theme, plan.width, { inset: INSET, letter: LETTER, ...plan }) : view.built;
    await draw(view, node, built);
    if (plan && hasTiles) {
      // Only now is known what the labels take.
      const inset = built.layout.width - node._fullLayout._size.w;
      built = view.build(theme, plan.width, { letter: LETTER, ...plan, inset });
      await draw(view, node, built);
    }
    const { layout: { width, height }, matrices } = built;
    const places = placesOf(node, matrices);
    // `toImage` would draw it all once more, and lay it out anew.
    const source = view.plotly.Snapshot.toSVG(node, "svg");
    const svg = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
    return { svg: document.importNode(svg, true), width, height, matrices, places };
  } finally {
    view.plotly.purge(node);
    node.remove();
  }
}

function draw(view, node, built) {
  const { data, layout } = view.current(built);
  const { theme } = built;
  return view.plotly.react(node, data, { ...layout, paper_bgcolor: theme.paper }, { ...built.config, staticPlot: true });
}

/** How many tiles side by side, and how wide, so that the cells are largest in the room. */
function planTiles(view, room) {
  const trace = view.header.figure.data.find(({ meta }) => meta?.tile);
  const { tile } = trace.meta;
  if (trace.z.shape.length === 2) return { width: planWidth(view, room) };
  const [count, height, breadth] = trace.z.shape;
  const gap = 2 * LETTER;
  let best = null;
  for (let columns = 1; columns <= count; columns += 1) {
    const cell = Math.min(CELL, tile.largest ?? CELL);
    const width = INSET + columns * breadth * cell + (columns - 1) * gap;
    const high = Math.ceil(count / columns) * (height * cell + gap) + ABOVE + BELOW;
    const scale = Math.min(room.width / width, room.height / high);
    if (!best || scale > best.scale) best = { columns, width: Math.ceil(Math.max(width, 420)), scale };
  }
  return best;
}

/** The width at which a figure of a fixed height has the room's proportions. */
function planWidth({ built }, room) {
  const wanted = (built.layout.height * room.width) / room.height;
  return Math.round(Math.min(Math.max(wanted, NARROWEST), WIDEST));
}

function placesOf(node, matrices) {
  const layout = node._fullLayout;
  const axis = (name) => layout[name.replace(/^([xy])/, "$1axis")];
  return Object.fromEntries(matrices.map(({ xaxis, yaxis }) => {
    const [x, y] = [axis(xaxis), axis(yaxis)];
    return [xaxis + yaxis, {
      left: x._offset, top: y._offset, width: x._length, height: y._length, x: [...x.range], y: [...y.range].reverse(),
    }];
  }));
}
