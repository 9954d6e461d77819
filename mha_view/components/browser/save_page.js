// A button that saves the page as one file that works offline.

import { element } from "./dom.js";
import { save } from "./files.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";
import { escapeHtml, place, standalone } from "./saved.js";

await loadStyles("plot.css");

// What does nothing in a saved page.
const CONTROLS = [
  "button", "input", "select", "textarea", "iframe", "script", ".th-bar", ".th-controls", ".th-frames",
  ...["Button", "ButtonGroup", "Checkbox", "DownloadButton", "FileUploader", "LinkButton", "NumberInput",
    "PageLink", "Pills", "Popover", "Radio", "Selectbox", "SegmentedControl", "Slider", "TextArea",
    "TextInput", "Toggle", "Alert .stButton", "Status"].map((name) => `.st${name}`),
].join(",");
const PAPER = `
html, body, .stApp { position: static; height: auto; overflow: visible; }
body { margin: 0; }
.saved { margin: 0 auto; padding: 1.5rem; }
.saved .th-plot > figure { margin: 0; }
.saved .th-plot > figure > svg { max-width: 100%; height: auto; }
.saved details > summary { cursor: pointer; }
#cell { position: sticky; bottom: 0; margin: 0; padding: 0.4rem 1.5rem; background: inherit; }
`;
const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? { button: element("button", "th-button th-save-page") };
  if (!views.has(parent)) {
    parent.append(view.button);
    view.button.addEventListener("click", () => savePage(view));
    views.set(parent, view);
  }
  view.header = unpack(component.data);
  view.button.textContent = view.header.words.save_page ?? "⇩";
  return () => {
    view.button.remove();
    views.delete(parent);
  };
}

async function savePage({ button, header }) {
  const { title, name, settings, words, addresses } = header;
  button.setAttribute("aria-busy", "true");
  const main = document.querySelector(".stMainBlockContainer") ?? document.body;
  const copy = main.cloneNode(true);
  const figures = await setFigures(main, copy);
  copy.querySelectorAll(CONTROLS).forEach((node) => node.remove());
  copy.querySelectorAll("details").forEach((node) => (node.open = true));
  const app = document.querySelector(".stApp");
  const colours = getComputedStyle(app);
  const paper = `body, .saved { background: ${colours.backgroundColor}; color: ${colours.color};
    font: ${colours.font}; }
    .saved { width: ${main.clientWidth}px; box-sizing: border-box; }`;
  const body = `<div class="${escapeHtml(app?.className ?? "")}"><main class="saved">${copy.innerHTML}</main></div>`;
  const style = `${await styles()}\n${PAPER}\n${paper}`;
  save(await standalone({ body, figures, settings, title, style, words, plotly: addresses.plotly }), `${name}.html`);
  button.removeAttribute("aria-busy");
}

/** Puts a place for each live figure, and a drawing for each link view, into the copy. */
async function setFigures(main, copy) {
  const figures = [];
  const copies = [...copy.querySelectorAll(".th-plot")];
  for (const [index, node] of [...main.querySelectorAll(".th-plot")].entries()) {
    const { view } = node;
    if (view.still) copies[index].innerHTML = view.still();
    else if (view.built) {
      copies[index].innerHTML = place(figures.length, view.header.alt);
      figures.push(view.saved());
    }
  }
  return figures;
}

/** Every style of the page, with the fonts it uses inside. */
async function styles() {
  const used = new Set([...document.fonts].filter((font) => font.status === "loaded")
    .map((font) => font.family.replace(/["']/g, "")));
  const rules = [...document.styleSheets].flatMap((sheet) => [...readRules(sheet)].map((rule) => ({ rule, sheet })));
  const texts = await Promise.all(rules.map(({ rule, sheet }) => {
    if (!(rule instanceof CSSFontFaceRule)) return rule.cssText;
    const family = rule.style.getPropertyValue("font-family").replace(/["']/g, "");
    return used.has(family) ? inlineFont(rule.cssText, sheet.href ?? document.baseURI) : "";
  }));
  return texts.join("\n");
}

/** A sheet's rules; none where the browser does not let us read them. */
function readRules(sheet) {
  try {
    return sheet.cssRules;
  } catch {
    return [];
  }
}

async function inlineFont(text, base) {
  const found = /url\(["']?([^"')]+\.woff2[^"')]*)["']?\)/.exec(text);
  if (!found) return "";
  const answer = await fetch(new URL(found[1], base));
  if (!answer.ok) return "";
  const data = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    answer.blob().then((blob) => reader.readAsDataURL(blob));
  });
  return text.replace(/src:[^;}]+/, `src: url("${data}") format("woff2")`);
}
