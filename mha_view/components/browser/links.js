// Attention as lines between tokens. Everything a reader does here stays in the browser.

import { fill, formatNumber } from "./cells.js";
import { element } from "./dom.js";
import { loadStyles } from "./load.js";
import { arcsPath, chooseLines, columnsPath, lineStyle } from "./lines.js";
import { unpack } from "./packet.js";
import { onRoom, room } from "./room.js";
import { addToolbar } from "./toolbar.js";
import { traced } from "./traced.js";

await loadStyles("plot.css", "links.css");

const SVG = "http://www.w3.org/2000/svg";
const TOP_CHOICES = [1, 2, 3, 5, 0]; // 0: as many as there are
const NARROW = 560; // pixels; below it a figure counts as one on a phone
const MOST_IN_COLUMNS = 40; // tokens
const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new LinksView(parent);
  views.set(parent, view);
  view.update(component);
  return () => {
    view.remove();
    views.delete(parent);
  };
}

class LinksView {
  constructor(parent) {
    this.root = element("figure", "th-plot th-links");
    this.controls = element("div", "th-controls");
    this.scroller = element("div", "th-stage");
    this.note = element("figcaption", "th-note");
    this.live = element("div", "th-live");
    this.live.setAttribute("aria-live", "polite");
    this.root.append(this.controls, this.scroller, this.note, this.live);
    this.root.view = this; // for the page that saves every figure on it
    parent.append(this.root);
    this.hidden = new Set();
    this.matrices = [];
    this.resizer = new ResizeObserver(() => this.resize());
    this.turn = 0;
    this.resizer.observe(this.root);
    this.endRoom = onRoom(() => this.resize());
    document.fonts?.addEventListener("loadingdone", this.onFonts = () => this.resize());
  }

  update(component) {
    this.component = component;
    if (component.data !== this.packet) {
      this.packet = component.data;
      const header = unpack(component.data);
      const isNewText = header.tokens.join("\0") !== this.header?.tokens.join("\0");
      if (isNewText || header.query !== this.header?.query) this.locked = header.query;
      const first = header.shown_heads ?? header.heads;
      if (first.join() !== this.header?.shown_heads?.join()) {
        this.hidden = new Set(header.heads.filter((head) => !first.includes(head)));
      }
      this.header = { ...header, shown_heads: first };
      this.threshold ??= header.threshold;
      this.top ??= 0;
    }
    this.matrices = this.header.heads.map((head, place) => this.matrix(head, place));
    this.root.dataset.figure = this.header.export?.name ?? "";
    this.drawControls();
    this.drawTokens();
    addToolbar(this);
    this.redrawTable?.();
    this.drawLines();
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
  }

  matrix(head, place) {
    const { tokens, weights } = this.header;
    const size = tokens.length;
    return {
      figure: this.header.words.links ?? "", head, height: size, breadth: size, rows: tokens, columns: tokens,
      valueAt: (row, column) => weights.values[(place * size + row) * size + column],
    };
  }

  /** Arcs need all tokens side by side; on a phone a sentence that is wider than it stands in two
   *  columns instead, where no arc is cut off. */
  get layout() {
    const { layout, tokens } = this.header;
    const isPhone = this.root.clientWidth < NARROW && tokens.length <= MOST_IN_COLUMNS;
    const fits = !(this.needed > this.scroller.clientWidth + 1);
    return layout === "arcs" && isPhone && !fits ? "columns" : layout;
  }

  resize() {
    if (!this.header) return;
    this.drawTokens();
    this.drawLines();
  }

  /** How high the arcs may rise: in a class as high as the screen lets them. */
  get highest() {
    return room() ? Math.max(150, room() - this.controls.offsetHeight - 4 * this.queries[0].offsetHeight) : undefined;
  }

  get shownHeads() {
    return this.header.heads.map((_, place) => place).filter((place) => !this.hidden.has(this.header.heads[place]));
  }

  /** The token whose links alone are drawn: the one pointed at, else the one tapped. */
  get isolated() {
    return this.pointed ?? this.locked ?? null;
  }

  // --- Controls ----------------------------------------------------------------------------

  drawControls() {
    const { heads, colours, words } = this.header;
    const chips = heads.map((head, place) => {
      const chip = element("button", "th-chip", String(head));
      chip.style.setProperty("--head", colours[place]);
      chip.setAttribute("aria-pressed", String(!this.hidden.has(head)));
      chip.setAttribute("aria-label", fill(words.head ?? "{head}", { head }));
      chip.addEventListener("click", () => {
        if (!this.hidden.delete(head)) this.hidden.add(head);
        chip.setAttribute("aria-pressed", String(!this.hidden.has(head)));
        this.drawLines();
      });
      return chip;
    });
    const focused = this.controls.contains(document.activeElement);
    if (focused && this.controls.childElementCount === chips.length + 2) return;
    this.controls.replaceChildren(...chips, this.thresholdControl(words), this.topControl(words));
  }

  thresholdControl(words) {
    const label = element("label", "", words.threshold ?? "");
    const range = element("input", "");
    const reading = element("output", "", this.threshold.toFixed(2));
    Object.assign(range, { type: "range", min: 0, max: 0.5, step: 0.01, value: this.threshold });
    range.addEventListener("input", () => {
      this.threshold = Number(range.value);
      reading.textContent = this.threshold.toFixed(2);
      this.drawLines();
    });
    label.append(range, reading);
    return label;
  }

  topControl(words) {
    const label = element("label", "", words.top ?? "");
    const select = element("select", "");
    select.append(...TOP_CHOICES.map((count) =>
      new Option(count || (words.top_all ?? "∞"), count, false, count === this.top)));
    select.addEventListener("change", () => {
      this.top = Number(select.value);
      this.drawLines();
    });
    label.append(select);
    return label;
  }

  // --- Tokens ------------------------------------------------------------------------------

  drawTokens() {
    const { tokens, words, alt } = this.header;
    const text = tokens.join("\0");
    if (text !== this.measured) this.needed = 0; // arcs of these are not drawn yet
    else if (this.drawnAs === "arcs") this.needed = this.stage.scrollWidth;
    this.measured = text;
    const { layout } = this;
    const stamp = `${layout}\0${tokens.join("\0")}`;
    this.scroller.setAttribute("role", "group");
    this.scroller.setAttribute("aria-label", `${alt} ${words.links_keys ?? ""}`);
    if (stamp === this.stamp) return;
    this.stamp = stamp;
    this.pointed = null;
    const stage = element("div", `th-${layout}`);
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("aria-hidden", "true");
    this.queries = tokens.map((token, place) => this.tokenButton(token, place));
    const row = element("div", "th-tokens");
    row.append(...this.queries);
    stage.append(this.svg, row);
    this.keys = this.queries;
    if (layout === "columns") {
      const column = element("div", "th-tokens th-keys");
      column.setAttribute("aria-hidden", "true");
      this.keys = tokens.map((token) => element("span", "th-token", token));
      this.keys.forEach((made) => made.append(element("small", "")));
      column.append(...this.keys);
      stage.append(column);
    }
    this.scroller.replaceChildren(stage);
    this.stage = stage;
    this.drawnAs = this.root.dataset.layout = layout;
    if (layout === "arcs") this.needed = stage.scrollWidth;
    if (this.layout !== layout) this.drawTokens();
  }

  tokenButton(token, place) {
    const button = element("button", "th-token", token);
    button.append(element("small", ""));
    button.tabIndex = place === (this.locked ?? 0) ? 0 : -1;
    button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.point(place));
    button.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.point(null));
    button.addEventListener("focus", () => button.matches(":focus-visible") && this.point(place));
    button.addEventListener("blur", () => this.point(null));
    button.addEventListener("click", () => {
      this.locked = this.locked === place ? null : place;
      this.drawLines();
      if (this.locked !== null) this.tell(place);
    });
    button.addEventListener("keydown", (event) => this.press(event, place));
    return button;
  }

  /** The token that was chosen, for all pages. */
  tell(place) {
    this.turn += 1;
    this.component.setStateValue("token", { place, turn: this.turn });
  }

  press(event, place) {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = this.queries.length - 1;
    const [back, forward] = this.drawnAs === "arcs" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const next = { [back]: place - 1, [forward]: place + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") {
      this.locked = this.pointed = null;
      this.drawLines();
    } else if (next >= 0 && next <= last) {
      this.queries[place].tabIndex = -1;
      this.queries[next].tabIndex = 0;
      this.queries[next].focus();
    } else if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
  }

  point(place) {
    this.pointed = place;
    this.drawLines();
    if (place !== null) this.live.textContent = this.say(place);
  }

  /** "it looks at: head 5 cat 0.884, mat 0.105". */
  say(query) {
    const { tokens, heads, words } = this.header;
    const lines = this.choose().lines.filter((line) => line.query === query);
    const parts = this.shownHeads.map((place) => {
      const keys = lines.filter((line) => line.place === place)
        .map((line) => `${tokens[line.key]} ${formatNumber(line.weight, words)}`);
      return keys.length ? `${fill(words.head ?? "{head}", { head: heads[place] })}: ${keys.join(", ")}` : "";
    });
    return fill(words.looks ?? "{token}: {keys}", { token: tokens[query], keys: parts.filter(Boolean).join("; ") });
  }

  // --- Lines -------------------------------------------------------------------------------

  choose() {
    const { weights, tokens, most_lines: most } = this.header;
    const { threshold, top } = this;
    return chooseLines(weights.values, tokens.length, { places: this.shownHeads, threshold, top, most });
  }

  drawLines() {
    if (!this.header || !this.stage?.isConnected) return;
    const { lines, total } = this.choose();
    const { isolated } = this;
    const arcs = this.drawnAs === "arcs";
    const path = arcs ? arcsPath(this.queries, lines, this.highest) : columnsPath(this.stage, this.queries, this.keys);
    this.stage.style.setProperty("--lines-height", `${path.height ?? 0}px`);
    this.root.style.setProperty("--wide", this.stage.scrollWidth); // for paper
    this.svg.setAttribute("width", this.stage.scrollWidth);
    this.svg.setAttribute("height", path.height ?? this.stage.clientHeight);
    const drawn = lines.map((line) => {
      const made = document.createElementNS(SVG, "path");
      made.setAttribute("d", path.of(line, this.shownHeads.indexOf(line.place), this.shownHeads.length));
      const isDim = isolated !== null && line.query !== isolated;
      const style = lineStyle(line, this.header.colours[line.place], isDim, isolated !== null);
      for (const [name, value] of Object.entries(style)) made.setAttribute(name, value);
      return made;
    });
    this.svg.replaceChildren(...drawn);
    this.markTokens(lines);
    this.state(lines, total);
  }

  markTokens(lines) {
    const { isolated } = this;
    const own = lines.filter((line) => line.query === isolated);
    this.queries.forEach((button, place) => {
      button.classList.toggle("th-isolated", place === isolated);
      button.setAttribute("aria-pressed", String(place === this.locked));
    });
    this.keys.forEach((token, place) => {
      const reached = own.filter((line) => line.key === place);
      token.classList.toggle("th-reached", reached.length > 0);
      token.lastChild.replaceChildren(...reached.slice(0, 3).map((line) => {
        const number = element("b", "", line.weight.toFixed(2).replace(/^0/, ""));
        number.style.setProperty("--head", this.header.colours[line.place]);
        return number;
      }));
    });
  }

  /** What is drawn and what is not, in words. */
  state(lines, total) {
    const { words, tokens, all_tokens: all } = this.header;
    const parts = { drawn: lines.length, total, threshold: this.threshold.toFixed(2), tokens: tokens.length, all };
    const said = [fill(words.drawn ?? "", parts)];
    if (all > tokens.length) said.push(fill(words.cut ?? "", parts));
    if (lines.isCut) said.push(fill(words.most ?? "", parts));
    this.note.textContent = said.join(" ");
  }

  // --- What the toolbar asks for -----------------------------------------------------------

  sheets() {
    return [];
  }

  /** The lines and the tokens as one drawing. */
  drawing() {
    return traced(this.stage, ".th-tip");
  }

  get remarks() {
    return [this.note.textContent];
  }

  /** The drawing, for a page that is saved. */
  async saved() {
    return { ...this.drawing(), matrices: [] };
  }

  remove() {
    this.resizer.disconnect();
    this.endRoom();
    document.fonts?.removeEventListener("loadingdone", this.onFonts);
    this.root.remove();
  }
}
