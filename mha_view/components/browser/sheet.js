// A picture that stands alone: round it its title, the sentence, what was chosen, and its link.

import { fontRules } from "./fonts.js";
import { readTheme } from "./theme.js";

const SVG = "http://www.w3.org/2000/svg";
// Pixels; `letter` is the sentence's size, `pixels` how many of the file one of them becomes.
// What is as high as it needs to be has the height that its picture is chosen for.
const FORMS = {
  slide: { width: 1280, height: 720, margin: 40, letter: 20, pixels: 1.5 },
  print: { width: 720, most: 880, margin: 28, letter: 14, pixels: 300 / 96 },
  svg: { width: 960, most: 760, margin: 32, letter: 16, pixels: 1 },
};
const LARGEST = 2; // how much a picture is enlarged at most

/** The picture of `view` as an SVG document in one of the FORMS: { source, width, height, pixels }.
 *  A view gives `drawing(room)`, an SVG element with its size, and `remarks`, lines about it. */
export async function sheetOf(view, form, settings) {
  const { width, height: fixed, most, margin, letter, pixels } = FORMS[form];
  const theme = readTheme(view.root);
  const about = aboutOf(view);
  const wide = width - 2 * margin;
  const quiet = { fill: theme.quiet, family: theme.font };
  const above = [
    ...set(about.title, { size: 1.45 * letter, weight: 700, fill: theme.text, family: theme.font }, wide, 2),
    ...set(about.sentence, { size: letter, fill: theme.text, family: theme.font }, wide, 2),
    ...set(about.facts, { ...quiet, size: 0.8 * letter }, wide, 2),
  ];
  const below = [
    ...view.remarks.flatMap((line) => set(line, { ...quiet, size: 0.75 * letter }, wide, 2)),
    ...set(about.link, { ...quiet, size: 0.62 * letter, href: about.address }, wide, 2),
  ];
  const [head, foot] = [above, below].map((lines) => lines.reduce((sum, { size }) => sum + 1.4 * size, 0));
  const room = { width: wide, height: (fixed ?? most) - 2 * margin - head - foot - 1.6 * letter };
  const { svg, ...drawn } = await view.drawing(room);
  const scale = Math.min(room.width / drawn.width, room.height / drawn.height, LARGEST);
  const height = fixed ?? Math.ceil(2 * margin + head + foot + 1.6 * letter + scale * drawn.height);
  const sheet = make("svg", {
    xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "title desc",
    lang: document.documentElement.lang,
  });
  sheet.append(
    named("title", about.title), named("desc", view.header.alt),
    Object.assign(named("metadata", JSON.stringify(settings)), { id: "settings" }),
    make("rect", { width, height, fill: theme.paper }), ...write(above, margin, margin),
    place(svg, { x: (width - scale * drawn.width) / 2, y: margin + head + 0.8 * letter, scale, ...drawn }),
    ...write(below, margin, height - margin - foot),
  );
  const fonts = make("style", {});
  fonts.textContent = await fontRules(sourceOf({ sheet }));
  sheet.querySelector("metadata").after(fonts);
  return { sheet, width, height, pixels, about };
}

/** The sheet as text. */
export function sourceOf({ sheet }) {
  return new XMLSerializer().serializeToString(sheet);
}

/** The sheet as an image of `pixels` to each of its own. */
export async function imageOf({ sheet, width, height, pixels }) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(sourceOf({ sheet }))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * pixels);
  canvas.height = Math.round(height * pixels);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

/** What is said round a picture; a page that says nothing of it lends it its own title. */
export function aboutOf({ header }) {
  const given = header.export?.about ?? {};
  const address = location.href.split("#")[0];
  let link = address;
  try {
    link = decodeURI(address);
  } catch {} // a link that holds bytes of no letter is printed as it is
  return {
    title: given.title ?? document.querySelector("h1")?.textContent ?? header.export?.name ?? "",
    sentence: given.sentence ?? "", facts: given.facts ?? "", link, address,
  };
}

/** A text in at most `most` lines of a width; what does not fit is left out with "…". */
function set(text, style, width, most) {
  const font = `${style.weight ?? 400} ${style.size}px ${style.family}`;
  const lines = [];
  let line = "";
  for (const piece of pieces(legible(text))) {
    if (line && measure(line + piece.trimEnd(), font) > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += line || piece.trim() ? piece : "";
  }
  if (line.trim()) lines.push(line.trimEnd());
  if (lines.length > most) {
    let last = lines[most - 1];
    while (last && measure(`${last}…`, font) > width) last = last.slice(0, -1);
    lines.splice(most - 1, Infinity, `${last}…`);
  }
  return lines.map((content) => ({ ...style, text: content }));
}

/** Where a line may be broken: between words; within what is as long as a link, between letters. */
function pieces(text) {
  const segmenter = new Intl.Segmenter(document.documentElement.lang || "en", { granularity: "word" });
  return [...segmenter.segment(text)].flatMap(({ segment }) => (segment.length > 24 ? [...segment] : [segment]));
}

function measure(text, font) {
  const pen = measure.pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  return pen.measureText(text).width;
}

function write(lines, x, top) {
  let y = top;
  return lines.map(({ text, size, weight, fill, family, href }) => {
    y += 1.4 * size;
    const made = make("text", { x, y: y - 0.35 * size, fill, "font-size": size, "font-family": family, "font-weight": weight ?? 400, "xml:space": "preserve" });
    made.textContent = text;
    if (!href) return made;
    const link = make("a", { href });
    link.append(made);
    return link;
  });
}

/** A drawing at its place on the sheet. */
function place(svg, { x, y, width, height, scale }) {
  for (const [name, value] of Object.entries({
    x, y, width: scale * width, height: scale * height, viewBox: `0 0 ${width} ${height}`, overflow: "visible",
  })) svg.setAttribute(name, value);
  svg.removeAttribute("style");
  return svg;
}

function named(tag, content) {
  const made = make(tag, { id: tag });
  made.textContent = legible(content ?? "");
  return made;
}

/** A text without what XML cannot hold. */
export function legible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udfff]/gu, "\ufffd").replace(/\s+/g, " ");
}

export function make(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
