// Which links are drawn, and their shapes.

const LEAST_HEIGHT = 36;
const MOST_HEIGHT = 150;

/** The links to draw, weakest first so that the strongest lie on top.
 *  `total` counts all that are not masked; `lines.isCut` says that some were too many. */
export function chooseLines(values, size, { places, threshold, top, most }) {
  const lines = [];
  let total = 0;
  for (const place of places) {
    for (let query = 0; query < size; query += 1) {
      const row = [];
      for (let key = 0; key < size; key += 1) {
        const weight = values[(place * size + query) * size + key];
        if (Number.isNaN(weight)) continue;
        total += 1;
        if (weight >= threshold && weight > 0) row.push({ place, query, key, weight });
      }
      row.sort((a, b) => b.weight - a.weight);
      lines.push(...(top ? row.slice(0, top) : row));
    }
  }
  lines.sort((a, b) => b.weight - a.weight);
  const isCut = lines.length > most;
  const drawn = lines.slice(0, most).reverse();
  return { lines: Object.assign(drawn, { isCut }), total };
}

/** How high an arc of this width rises: less and less, so that a long text stays a low picture. */
const rise = (width, most) => most * (1 - Math.exp((-0.5 * width) / most));

/** Arcs over one row of tokens; a token that looks at itself gets a small loop. */
export function arcsPath(buttons, lines, most = MOST_HEIGHT) {
  const centres = buttons.map((button) => button.offsetLeft + button.offsetWidth / 2);
  const farthest = Math.max(0, ...lines.map(({ query, key }) => Math.abs(centres[query] - centres[key])));
  const height = Math.round(Math.max(LEAST_HEIGHT, rise(farthest, most) + 12));
  const of = ({ query, key }, turn, turns) => {
    // Several heads' arcs leave a token side by side.
    const shift = (turn - (turns - 1) / 2) * 3;
    const [from, to] = [centres[query] + shift, centres[key] + shift];
    const base = height - 1;
    if (query === key) return `M${from - 5} ${base}C${from - 12} ${base - 26} ${from + 12} ${base - 26} ${from + 5} ${base}`;
    // A cubic curve reaches three quarters of the way to its handles.
    const handle = rise(Math.abs(to - from), most) / 0.75;
    const lean = (to - from) * 0.12;
    return `M${from} ${base}C${from + lean} ${base - handle} ${to - lean} ${base - handle} ${to} ${base}`;
  };
  return { height, of };
}

/** Curves from the left column to the right one. */
export function columnsPath(stage, queries, keys) {
  const middle = (token) => token.offsetTop + token.offsetHeight / 2;
  const left = queries.length ? Math.max(...queries.map((token) => token.offsetLeft + token.offsetWidth)) + 4 : 0;
  const right = keys.length ? Math.min(...keys.map((token) => token.offsetLeft)) - 4 : 0;
  const of = ({ query, key }, turn, turns) => {
    const shift = (turn - (turns - 1) / 2) * 3;
    const [from, to] = [middle(queries[query]) + shift, middle(keys[key]) + shift];
    const pull = (right - left) * 0.45;
    return `M${left} ${from}C${left + pull} ${from} ${right - pull} ${to} ${right} ${to}`;
  };
  return { of };
}

/** As thick and as strong as the weight; what is not isolated recedes. */
export function lineStyle({ weight }, colour, isDim, isIsolating) {
  const strength = isDim ? 0.12 : isIsolating ? 0.35 + 0.65 * weight : 0.12 + 0.6 * weight;
  return {
    fill: "none", stroke: colour, "stroke-width": (0.8 + 4.7 * weight).toFixed(2),
    "stroke-opacity": strength.toFixed(3), "stroke-linecap": "round",
  };
}
