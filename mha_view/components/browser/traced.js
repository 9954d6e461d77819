// What is drawn with elements, traced as one SVG: canvases, boxes, lines and words, each where the
// browser put it.

import { legible, make } from "./sheet.js";
import { plainColour } from "./theme.js";

const STYLED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "paint-order", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline",
];

/** An SVG of `root` and its size. What `leftOut`, a selector, names is not in it. */
export function traced(root, leftOut) {
  const frame = root.getBoundingClientRect();
  const svg = make("svg", { xmlns: "http://www.w3.org/2000/svg" });
  const size = { width: 1, height: 1 };
  const at = (box) => {
    const place = { x: box.left - frame.left, y: box.top - frame.top, width: box.width, height: box.height };
    size.width = Math.max(size.width, place.x + place.width);
    size.height = Math.max(size.height, place.y + place.height);
    return place;
  };
  svg.append(traceElement(root, at, leftOut));
  return { svg, width: Math.ceil(size.width) + 2, height: Math.ceil(size.height) + 2 };
}

function traceElement(node, at, leftOut) {
  const made = make("g", {});
  const style = getComputedStyle(node);
  if (node.matches(leftOut) || style.display === "none" || style.visibility === "hidden") return made;
  if (style.opacity !== "1") made.setAttribute("opacity", style.opacity);
  if (node instanceof HTMLCanvasElement) {
    made.append(...traceBox(node, style, at), make("image", { ...at(node.getBoundingClientRect()), href: node.toDataURL(), preserveAspectRatio: "none", style: "image-rendering: pixelated" }));
  }
  if (node instanceof SVGSVGElement) made.append(traceSvg(node, at));
  else {
    made.append(...traceBox(node, style, at));
    for (const child of node.childNodes) {
      if (child instanceof Text) made.append(...traceText(child, style, at));
      else if (child instanceof Element) made.append(traceElement(child, at, leftOut));
    }
  }
  return made;
}

/** A drawing with the looks that style sheets give it written into it. */
function traceSvg(node, at) {
  const { left, top } = node.getBoundingClientRect();
  const { x, y } = at({ left, top, width: 0, height: 0 });
  const made = make("g", { transform: `translate(${x} ${y})` });
  made.append(...[...node.cloneNode(true).children]);
  const copies = [...made.querySelectorAll("*")];
  [...node.querySelectorAll("*")].forEach((original, index) => {
    const style = getComputedStyle(original);
    const copy = copies[index];
    copy.removeAttribute("style");
    copy.removeAttribute("class");
    for (const name of STYLED) copy.setAttribute(name, plainColour(style.getPropertyValue(name)));
    if (style.opacity !== "1") copy.setAttribute("opacity", style.opacity);
    if (style.display === "none" || style.visibility === "hidden") copy.setAttribute("display", "none");
    if (!copy.textContent && original.getBoundingClientRect) at(original.getBoundingClientRect());
  });
  return made;
}

/** Ground, border and outline of an element. */
function traceBox(node, style, at) {
  const drawn = [];
  const box = node.getBoundingClientRect();
  if (!box.width || !box.height) return drawn;
  const isSeen = (colour) => colour && colour !== "transparent" && !/(,|\/) ?0\)$/.test(colour);
  const gradient = /^linear-gradient\(to right, (.+)\)$/.exec(style.backgroundImage);
  if (gradient) drawn.push(...ramp(gradient[1].match(/rgba?\([^)]*\)|#\w+/g) ?? [], at(box)));
  else if (isSeen(style.backgroundColor)) drawn.push(make("rect", { ...at(box), fill: plainColour(style.backgroundColor), rx: parseFloat(style.borderTopLeftRadius) || 0 }));
  const below = parseFloat(style.borderBottomWidth);
  if (below && isSeen(style.borderBottomColor)) {
    const { x, y, width, height } = at(box);
    drawn.push(make("rect", { x, y: y + height - below, width, height: below, fill: plainColour(style.borderBottomColor) }));
  }
  if (style.outlineStyle === "solid" && isSeen(style.outlineColor) && parseFloat(style.outlineWidth)) {
    drawn.push(make("rect", { ...at(box), fill: "none", stroke: plainColour(style.outlineColor), "stroke-width": parseFloat(style.outlineWidth) }));
  }
  return drawn;
}

/** A row of colours from left to right. */
function ramp(colours, { x, y, width, height }) {
  const each = width / colours.length;
  return colours.map((fill, index) => make("rect", { x: x + index * each, y, width: each + 0.5, height, fill }));
}

/** A text, a line at a time. */
function traceText(node, style, at) {
  if (!node.data.trim()) return [];
  const range = document.createRange();
  const lines = [];
  let start = 0;
  for (const { index, segment } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(node.data)) {
    range.setStart(node, index);
    range.setEnd(node, index + segment.length);
    const [box] = range.getClientRects();
    if (!box) continue;
    const last = lines.at(-1);
    if (last && Math.abs(last.top - box.top) < box.height / 2) last.end = index + segment.length;
    else lines.push({ top: box.top, start: lines.length ? index : start, end: index + segment.length });
  }
  const pen = traceText.pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  return lines.map(({ start, end }) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    const box = range.getBoundingClientRect();
    const { x, y, height } = at(box);
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = pen.measureText("x");
    const made = make("text", {
      x: x + box.width / 2, y: y + (height - up - down) / 2 + up, "text-anchor": "middle", fill: plainColour(style.color),
      "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight, "xml:space": "preserve",
    });
    made.textContent = legible(node.data.slice(start, end));
    return made;
  });
}
