// A text that goes on: what may come next as bars to click, and the tokens chosen so far.

import { fill } from "./cells.js";
import { element } from "./dom.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";

await loadStyles("plot.css", "writing.css");

const PACE = 550; // milliseconds a new token stands while it plays
const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new WritingView(parent);
  views.set(parent, view);
  view.update(component);
  return () => {
    view.remove();
    views.delete(parent);
  };
}

function percent(share) {
  if (share < 1e-4) return "< 0.01 %";
  return `${share < 0.0995 ? (share * 100).toPrecision(2) : (share * 100).toFixed(0)} %`;
}

class WritingView {
  constructor(parent) {
    this.root = element("div", "th-writing");
    this.text = element("div", "th-said");
    this.text.setAttribute("role", "group");
    const bar = element("div", "th-writing-bar");
    this.buttons = Object.fromEntries(["play", "step", "back", "clear"].map((name) => {
      const button = element("button", `th-button th-writing-${name}`);
      button.addEventListener("click", () => this[name]());
      bar.append(button);
      return [name, button];
    }));
    this.note = element("span", "th-writing-note");
    this.note.setAttribute("aria-live", "polite");
    bar.append(this.note);
    this.ruler = element("div", "th-ruler");
    this.list = element("ol", "th-candidates");
    this.root.append(this.text, bar, this.ruler, this.list);
    parent.append(this.root);
    this.turn = 0;
    this.isPlaying = false;
  }

  update(component) {
    this.component = component;
    if (component.data !== this.packet) {
      this.packet = component.data;
      this.header = unpack(component.data);
    }
    const { header } = this;
    this.root.setAttribute("aria-label", header.label);
    if (!header.can_go) this.isPlaying = false;
    this.drawText();
    this.drawButtons();
    this.drawRuler();
    this.drawCandidates();
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
    this.goOn();
  }

  /** While it plays: the next token, once the answer to the last wish is here. */
  goOn() {
    clearTimeout(this.waiting);
    if (!this.isPlaying || this.header.turn < this.turn) return;
    this.waiting = setTimeout(() => this.isPlaying && this.addNext(), PACE);
  }

  // --- What is drawn -----------------------------------------------------------------------

  drawText() {
    const { text, said, look, words } = this.header;
    const focused = this.placeOf(this.text, document.activeElement);
    this.text.setAttribute("aria-label", words.text ?? "");
    const before = text.map((label) => element("span", "th-was", label));
    const after = said.map((label, place) => {
      const button = element("button", "th-new", label);
      button.setAttribute("aria-pressed", String(place === look));
      button.title = fill(words.look ?? "", { token: label });
      button.addEventListener("click", () => this.lookAt(place));
      return button;
    });
    const next = element("button", "th-new th-open", "…");
    next.setAttribute("aria-pressed", String(look === said.length));
    next.setAttribute("aria-label", words.next ?? "");
    next.addEventListener("click", () => this.lookAt(-1));
    this.text.replaceChildren(...before, ...after, next);
    if (focused >= 0) this.text.children[Math.min(focused, this.text.children.length - 1)].focus();
    const here = this.text.querySelector('[aria-pressed="true"]');
    if (here) this.text.scrollTop = here.offsetTop - this.text.clientHeight + here.offsetHeight + 6;
  }

  drawButtons() {
    const { words, said, can_go: canGo } = this.header;
    const { play, step, back, clear } = this.buttons;
    play.textContent = (this.isPlaying ? words.stop : words.play) ?? "";
    step.textContent = words.step ?? "";
    back.textContent = words.back ?? "";
    clear.textContent = words.clear ?? "";
    play.disabled = step.disabled = !canGo;
    back.disabled = clear.disabled = !said.length;
    this.note.textContent = canGo ? "" : words.full ?? "";
  }

  /** The shares in a row from 0 to 1, and the number that was drawn on it. */
  drawRuler() {
    const { candidates, drawn, falls, words } = this.header;
    this.ruler.hidden = drawn === null;
    if (drawn === null) return;
    const parts = candidates.filter(({ share }) => share > 0).map(({ share, start, token, label }) => {
      const part = element("span", "th-share", share > 0.06 ? label : "");
      part.style.left = `${start * 100}%`;
      part.style.width = `${share * 100}%`;
      part.classList.toggle("th-hit", token === falls);
      return part;
    });
    const mark = element("span", "th-drawn");
    mark.style.left = `${drawn * 100}%`;
    const told = element("span", "th-drawn-number", fill(words.drawn ?? "", { number: drawn.toFixed(3) }));
    told.classList.toggle("th-left", drawn > 0.6);
    mark.append(told);
    this.ruler.replaceChildren(...parts, mark);
    this.ruler.setAttribute("role", "img");
    this.ruler.setAttribute("aria-label", fill(words.ruler ?? "", { number: drawn.toFixed(3) }));
  }

  drawCandidates() {
    const { candidates, chosen, words, n_others: others, look, said } = this.header;
    const focused = this.placeOf(this.list, document.activeElement?.parentElement);
    const largest = Math.max(...candidates.map(({ chance, share }) => Math.max(chance, share)), 1e-9);
    const width = (part) => `${((part / largest) * 100).toFixed(2)}%`;
    const rows = candidates.map(({ token, label, chance, share }) => {
      const row = element("li", "th-candidate");
      const button = element("button", "th-choose");
      const name = element("bdi", "th-token", label);
      const track = element("span", "th-track");
      const bar = element("span", "th-bar-share");
      const own = element("span", "th-bar-own");
      bar.style.width = width(share);
      own.style.left = width(chance);
      track.append(bar, own);
      button.append(name, track, element("span", "th-chance", share ? percent(share) : words.out ?? "–"));
      const isChosen = token === chosen;
      button.classList.toggle("th-chosen", isChosen);
      button.classList.toggle("th-out", !share);
      const key = isChosen ? "choice_chosen" : share ? "choice" : "choice_out";
      button.setAttribute("aria-label",
        fill(words[key] ?? "", { token: label, share: percent(share), chance: percent(chance) }));
      button.title = fill(words.own ?? "", { chance: percent(chance) });
      button.addEventListener("click", () => this.take(token));
      row.append(button);
      return row;
    });
    this.list.replaceChildren(...rows);
    this.list.setAttribute("aria-label", look < said.length ? words.list_back ?? "" : words.list ?? "");
    if (others) this.list.append(element("li", "th-others", fill(words.others ?? "", { n: others.toLocaleString("en") })));
    if (focused >= 0) this.list.children[Math.min(focused, rows.length - 1)]?.firstChild.focus?.();
  }

  placeOf(parent, child) {
    return child ? [...parent.children].indexOf(child) : -1;
  }

  // --- What is wished ----------------------------------------------------------------------

  play() {
    this.isPlaying = !this.isPlaying;
    this.drawButtons();
    if (this.isPlaying) this.addNext();
    else clearTimeout(this.waiting);
  }

  step() {
    this.halt();
    this.addNext();
  }

  /** The token that the settings choose, after all that is there. */
  addNext() {
    const { said, look, chosen } = this.header;
    if (look < said.length) {
      this.send({ keep: said.length, token: null, look: -1 });
      return;
    }
    this.send({ keep: said.length, token: chosen, look: -1 });
  }

  take(token) {
    this.halt();
    this.send({ keep: this.header.look, token, look: -1 });
  }

  back() {
    this.halt();
    this.send({ keep: Math.max(0, this.header.said.length - 1), token: null, look: -1 });
  }

  clear() {
    this.halt();
    this.send({ keep: 0, token: null, look: -1 });
  }

  lookAt(place) {
    this.halt();
    this.send({ keep: this.header.said.length, token: null, look: place });
  }

  halt() {
    this.isPlaying = false;
    clearTimeout(this.waiting);
    this.drawButtons();
  }

  send(wish) {
    this.turn += 1;
    this.component.setStateValue("wished", { wish, turn: this.turn });
  }

  remove() {
    clearTimeout(this.waiting);
    this.root.remove();
  }
}
