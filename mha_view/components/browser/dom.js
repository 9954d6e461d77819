// Small things the other files share.

import { Tensor } from "./packet.js";

/** Plain arrays for Plotly: a matrix as its rows, anything else as its values. */
export function plain(value) {
  if (value instanceof Tensor) return value.shape.length === 2 ? value.rows() : value.values;
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
}

export function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  if (text) made.textContent = text;
  if (tag === "button") made.type = "button";
  return made;
}
