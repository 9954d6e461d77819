// A page cut into screens: one picture, table or question each, with its words; and the lines of a
// screen that are uncovered one by one. Streamlit's own nodes are only marked, never moved.

const LEAF = '[data-testid="stElementContainer"]';
const BLOCKS = ["stVerticalBlock", "stHorizontalBlock", "stColumn", "stLayoutWrapper", "stTabs", "stTabPanel"]
  .map((name) => `[data-testid="${name}"]`).join(",");
// What is not shown to a class: the frame, small controls, what a reader opens.
const ASIDE = [
  "controls_row", "address", "neighbours", "thread_row", "map", "check", "share", "foot", "present_bar",
  "scale", "example_chips", "save_page", "exercise_row",
].map((key) => `.st-key-${key}`).join(",");
const NEVER = `${ASIDE},[class*="st-key-pick_"],[data-testid="stExpander"],[data-testid="stEmpty"]`;
// What will be a picture or a table once the browser has what draws it.
const COMING = '[data-testid="stBidiComponentRegular"]:not([aria-busy="false"]), [data-testid="stSkeleton"]';
const REVEALED = '[class*="st-key-revealed"]';
const HEADINGS = "h1,h2,h3,h4,h5,h6";

/** The screens of a page, in order: { name, title, leaves }. */
export function findSlides(main) {
  const slides = [];
  let pending = [];
  const flush = () => {
    if (pending.some((leaf) => !leaf.isHeading)) slides.push(pending);
    else if (pending.length) return; // headings wait for what they head
    pending = [];
  };
  for (const leaf of [...main.querySelectorAll(LEAF)].map(read).filter(Boolean)) {
    const shown = pending.find((other) => other.isMain);
    const startsPage = pending.some((other) => other.isTitle);
    if (leaf.isHeading) flush();
    else if (leaf.isMain && (shown || startsPage)) flush();
    else if (shown && !leaf.isCaption && !leaf.isRevealed && leaf.block !== shown.block) flush();
    pending.push(leaf);
  }
  flush();
  const names = new Map();
  let pageTitle = "";
  return slides.map((all) => {
    const leaves = besideMain(all);
    const name = nameOf(leaves);
    const title = leaves.filter((leaf) => leaf.isHeading).at(-1)?.node.innerText.trim() ?? "";
    pageTitle ||= title;
    const count = (names.get(name) ?? 0) + 1;
    names.set(name, count);
    return {
      name: count > 1 ? `${name}${count}` : name,
      title: title || titleOf(leaves) || pageTitle,
      leaves: leaves.map((leaf) => leaf.node),
      main: leaves.find((leaf) => leaf.isMain)?.node ?? null,
    };
  });
}

/** Beside a picture its axes say what the words under it say, beside a table its lines do: the
 *  height is theirs. What moves them stays, and an answer. */
function besideMain(leaves) {
  const place = leaves.findIndex((leaf) => leaf.isMain);
  if (place < 0) return leaves;
  const moves = "input, button, [data-testid=stButtonGroup]";
  return leaves.filter((leaf, index) => leaf.isRevealed ||
    (!leaf.isCaption && (index <= place || !leaves[place].figure || leaf.node.querySelector(moves))));
}

/** What a place on the page is to a class; null for what is not shown. */
function read(node) {
  if (node.closest(NEVER) || node.querySelector('[data-testid="stEmpty"]')) return null;
  const figure = node.querySelector(".th-plot:not(.th-small)") ?? node.querySelector(COMING);
  const isMain = Boolean(figure || node.querySelector('table, [data-testid="stDataFrame"], [data-testid="stRadio"]')) &&
    !node.closest(REVEALED);
  if (!isMain && !node.innerText?.trim() && !node.textContent.trim()) return null;
  return {
    node, isMain, figure,
    block: node.closest('[data-testid="stVerticalBlock"]'),
    isHeading: !isMain && Boolean(node.querySelector(HEADINGS)),
    isTitle: Boolean(node.querySelector("h1")),
    isCaption: Boolean(node.querySelector('[data-testid="stCaptionContainer"]')),
    isRevealed: Boolean(node.closest(REVEALED)),
  };
}

/** A picture's own title, where no heading gives it one. */
function titleOf(leaves) {
  const { figure } = leaves.find((leaf) => leaf.isMain) ?? {};
  return figure?.view?.header?.export?.about?.title ?? "";
}

/** A name that a link can hold: a picture's own, else what it is. */
function nameOf(leaves) {
  const main = leaves.find((leaf) => leaf.isMain);
  if (!main) {
    if (leaves.some((leaf) => leaf.node.closest(".st-key-question"))) return "question";
    return leaves.some((leaf) => leaf.isTitle) ? "says" : "text";
  }
  const key = [...main.node.classList].find((name) => name.startsWith("st-key-"))?.slice(7) ?? "";
  if (key.startsWith("answer_")) return "ask";
  return key.replace(/^picture_/, "") || "table";
}

/** Marks what is on the screen; everything else is away. */
export function showSlide(main, slide) {
  const on = new Set(slide.leaves);
  for (const leaf of main.querySelectorAll(LEAF)) toggle(leaf, "on", on.has(leaf));
  for (const block of main.querySelectorAll(BLOCKS)) {
    toggle(block, "path", slide.leaves.some((leaf) => block.contains(leaf)));
  }
  for (const leaf of slide.leaves) openTab(leaf);
}

/** A picture in a tab that is not open is opened as a reader would. */
function openTab(leaf) {
  const panel = leaf.closest('[data-testid="stTabPanel"]');
  const whole = panel?.closest('[data-testid="stTabs"]');
  if (!whole) return;
  const place = [...whole.querySelectorAll('[data-testid="stTabPanel"]')].indexOf(panel);
  const tab = whole.querySelectorAll('[data-testid="stTab"]')[place];
  const button = tab?.closest('[role="tab"]') ?? tab;
  if (button && button.getAttribute("aria-selected") !== "true") button.click();
}

/** The lines of a screen: rows of its tables, answers of its question and what is right. */
export function linesOf(slide) {
  return slide.leaves.flatMap((leaf) => {
    if (leaf.querySelector(".th-plot")) return [];
    if (leaf.closest(REVEALED)) return [leaf.closest(REVEALED)];
    return [...leaf.querySelectorAll('tbody tr, [data-testid="stRadio"] label:has(input)')]
      .filter((line) => !line.closest("details"));
  });
}

/** Uncovers the first `count` lines. */
export function uncover(lines, count) {
  lines.forEach((line, place) => toggle(line, "shown", place < count));
}

function toggle(node, name, isOn) {
  if (isOn === name in node.dataset) return;
  if (isOn) node.dataset[name] = "";
  else delete node.dataset[name];
}

/** Takes every mark away. */
export function clear(main) {
  for (const name of ["on", "path", "shown"]) {
    for (const node of main.querySelectorAll(`[data-${name}]`)) delete node.dataset[name];
  }
}
