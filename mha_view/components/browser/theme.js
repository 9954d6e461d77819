// Colours and letters from the app's theme, for what the figure leaves open.

export function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  return {
    text: read("--st-text-color", "#222"),
    paper: read("--st-background-color", "#fff"),
    field: read("--st-secondary-background-color", "#f2f2ee"),
    line: read("--st-border-color", "#ddd"),
    // What a masked cell shows: the paper, a little darker (in the dark, a little lighter).
    empty: mix(read("--st-text-color", "#222"), read("--st-background-color", "#fff"), 0.06),
    quiet: mix(read("--st-text-color", "#222"), read("--st-background-color", "#fff"), 0.72),
    accent: read("--st-primary-color", "#1f77b4"),
    font: read("--st-font", "sans-serif"),
    size: parseFloat(read("--st-base-font-size", "16px")) || 16,
    read,
  };
}

/** Replaces "var(--name)" by that variable's value, everywhere in a figure. */
export function resolveColours(value, theme) {
  if (typeof value === "string") {
    const variable = /^var\((--[\w-]+)\)$/.exec(value);
    return variable ? theme.read(variable[1], theme.text) : value;
  }
  if (Array.isArray(value)) {
    return typeof value[0] === "number" ? value : value.map((part) => resolveColours(part, theme));
  }
  if (value === null || typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, resolveColours(part, theme)]));
}

/** A Plotly template: whatever the figure sets itself comes before it. */
export function template(theme) {
  const { quiet } = theme;
  const letter = Math.max(12, Math.round(theme.size * 0.78));
  const axis = {
    gridcolor: theme.line, linecolor: theme.line, zerolinecolor: theme.line, zerolinewidth: 1,
    ticks: "", automargin: true, tickfont: { color: quiet }, title: { font: { color: quiet, size: letter } },
  };
  const colorbar = {
    outlinewidth: 0, thickness: 10, ticklen: 3, tickcolor: theme.line,
    tickfont: { color: quiet }, title: { font: { color: quiet, size: letter } },
  };
  return {
    data: { heatmap: [{ colorbar }], scatter: [{ line: { width: 2 } }] },
    layout: {
      font: { family: theme.font, size: letter, color: theme.text },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 48, r: 16, t: 24, b: 40 },
      xaxis: axis,
      yaxis: axis,
      scene: { xaxis: axis, yaxis: axis, zaxis: axis },
      coloraxis: { colorbar },
      hoverlabel: { bgcolor: theme.field, bordercolor: theme.line, font: { color: theme.text, family: theme.font } },
      legend: { font: { color: quiet } },
      modebar: { bgcolor: "rgba(0,0,0,0)" },
    },
  };
}

function mix(first, second, share) {
  const [a, b] = [first, second].map(channels);
  if (!a || !b) return first;
  return `rgb(${a.map((part, index) => Math.round(part * share + b[index] * (1 - share))).join(",")})`;
}

/** A CSS colour in the form that every program reads; words such as "none" stay. */
export function plainColour(colour) {
  if (!/^(color|lab|lch|ok|hsl|hwb)/.test(colour)) return colour;
  const [red, green, blue, alpha] = pixel(colour);
  return `rgba(${red}, ${green}, ${blue}, ${Number((alpha / 255).toFixed(3))})`;
}

/** Red, green and blue of a CSS colour as the browser understands it. */
function channels(colour) {
  const [red, green, blue, alpha] = pixel(colour);
  return alpha ? [red, green, blue] : null;
}

function pixel(colour) {
  const pen = pixel.pen ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
}
