// A button that saves the page as one file that works offline.

import { element } from "./dom.js";
import { save } from "./files.js";
import { allRules, familyOf, inlineFont, loadedFamilies } from "./fonts.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";
import { place, standalone } from "./saved.js";

await loadStyles("plot.css");

// What does nothing in a saved page.
const CONTROLS = [
  "button", "input", "select", "textarea", "iframe", "script", ".th-bar", ".th-controls", ".th-frames",
  "[data-testid=stIconMaterial]",
  ...["controls_row", "example_chips", "thread_row", "check", "exercises", "neighbours"].map((key) => `.st-key-${key}`),
  ...["Button", "ButtonGroup", "Checkbox", "DownloadButton", "FileUploader", "LinkButton", "MultiSelect", "NumberInput",
    "PageLink", "Pills", "Popover", "Radio", "Selectbox", "SegmentedControl", "Slider", "TextArea",
    "TextInput", "Toggle", "Alert .stButton", "Status"].map((name) => `.st${name}`),
].join(",");
const PAPER = `
html, body, .stApp { position: static; height: auto; overflow: visible; }
body { margin: 0; }
.saved { margin: 0 auto; padding: 1.5rem; }
.saved details > summary { cursor: pointer; }
.saved .about { margin: 0; } .saved .address { font-size: 0.8rem; overflow-wrap: anywhere; }
.saved .st-key-kept_answer { display: block; }
.saved .asked ul { padding-left: 1.2em; }
#cell:empty { display: none; }
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
  const { title, name, settings, words, subject, facts } = header;
  button.setAttribute("aria-busy", "true");
  const main = document.querySelector(".stMainBlockContainer") ?? document.body;
  const copy = main.cloneNode(true);
  const figures = await setFigures(main, copy);
  keepQuestions(copy, words);
  unfoldTabs(copy);
  copy.querySelectorAll(CONTROLS).forEach((node) => node.remove());
  copy.querySelectorAll("details:not(.symbol, .kept)").forEach((node) => (node.open = true));
  const page = element("main", "saved");
  page.append(...[subject, facts].filter(Boolean).map((line) => element("p", "about", line)), ...copy.childNodes, address());
  const app = document.querySelector(".stApp");
  const whole = element("div", app?.className ?? "");
  whole.append(page);
  const colours = getComputedStyle(app ?? document.body);
  const paper = `body, .saved { background: ${colours.backgroundColor}; color: ${colours.color};
    font: ${colours.font}; }
    .saved { width: ${main.clientWidth}px; max-width: 100%; box-sizing: border-box; }`;
  const style = `${await styles(whole)}\n${PAPER}\n${paper}`;
  save(await standalone({ body: whole.outerHTML, figures, settings, title, style, words }), `${name}.html`);
  button.removeAttribute("aria-busy");
}

/** Where the page can be had alive. */
function address() {
  const line = element("p", "address");
  line.append(Object.assign(element("a", "", location.href), { href: location.href }));
  return line;
}

/** Questions as they can be read: what is asked, what can be answered, and the answer folded. */
function keepQuestions(copy, words) {
  const said = (node) => [...(node?.querySelector("[data-testid=stMarkdownContainer]") ?? node)?.childNodes ?? []];
  for (const radio of copy.querySelectorAll("[class*=st-key-answer_]")) {
    const asked = element("div", "asked");
    asked.append(...said(radio.querySelector("[data-testid=stWidgetLabel]")));
    const list = element("ul", "");
    for (const option of radio.querySelectorAll("label:has(input)")) {
      const line = element("li", "");
      line.append(...said(option));
      list.append(line);
    }
    asked.append(list);
    radio.replaceWith(asked);
  }
  for (const answer of copy.querySelectorAll(".st-key-kept_answer")) {
    const folded = element("details", "kept");
    answer.replaceWith(folded);
    folded.append(element("summary", "", words.answer ?? ""), answer);
  }
}

/** Tabs one after another, each under its name. */
function unfoldTabs(copy) {
  for (const tabs of copy.querySelectorAll("[data-testid=stTabs]")) {
    const names = [...tabs.querySelectorAll("[role=tab]")].map((tab) => tab.textContent);
    [...tabs.querySelectorAll("[data-testid=stTabPanel]")].forEach((panel, index) => {
      for (const name of ["hidden", "inert", "data-inert", "data-st-inactive", "aria-hidden"]) panel.removeAttribute(name);
      panel.style.cssText = "display: block; visibility: visible; height: auto; position: static;";
      panel.prepend(element("h5", "", names[index] ?? ""));
    });
    tabs.querySelectorAll("[role=tablist]").forEach((list) => list.remove());
  }
}

/** Puts a drawing of each figure into the copy, and gives what the drawings say. */
async function setFigures(main, copy) {
  const figures = [];
  const copies = [...copy.querySelectorAll(".th-plot")];
  for (const [index, { view }] of [...main.querySelectorAll(".th-plot")].entries()) {
    if (!view?.root.dataset.drawn && !view?.isWaiting) continue; // without Plotly
    const drawn = await view.saved();
    copies[index].innerHTML = place(figures.length, view.header.alt, drawn) + (view.table?.outerHTML ?? "");
    figures.push(drawn);
  }
  return figures;
}

/** The styles that `whole` needs, with the fonts it uses inside. */
async function styles(whole) {
  const used = loadedFamilies();
  const texts = await Promise.all(allRules().map((found) => {
    if (!(found.rule instanceof CSSFontFaceRule)) return needed(found.rule, whole) ? found.rule.cssText : "";
    const family = familyOf(found.rule);
    const isNeeded = used.has(family) && !family.startsWith("Material");
    // What leans can be made of what stands; formulas have letters of their own for it.
    const isSpare = found.rule.style.fontStyle === "italic" && !family.startsWith("KaTeX");
    return isNeeded && !isSpare ? inlineFont(found) : "";
  }));
  return texts.filter(Boolean).join("\n");
}

/** Whether a rule can be about anything in `whole`; one that cannot be told is kept. */
function needed(rule, whole) {
  if (rule instanceof CSSKeyframesRule) return false;
  if (!rule.selectorText) return rule.cssRules ? [...rule.cssRules].some((inner) => needed(inner, whole)) : true;
  if (/\b(html|body|:root)\b/.test(rule.selectorText)) return true;
  const plain = rule.selectorText.replace(/::[\w-]+|:(hover|focus|focus-visible|focus-within|active|visited|disabled|first-line|placeholder)\b/g, "");
  try {
    return whole.matches(plain) || whole.querySelector(plain) !== null;
  } catch {
    return true;
  }
}
