// The presenter: one screen at a time, its lines uncovered by a key, the way on to the next page.

import { element } from "./dom.js";
import { fill } from "./cells.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";
import { setRoom } from "./room.js";
import { clear, findSlides, linesOf, showSlide, uncover } from "./slides.js";
import { Clock } from "./clock.js";

await loadStyles("plot.css", "present.css");

const SETTLE = 60; // milliseconds without a change of the page before it is read again
const GIVE_UP = 15000; // milliseconds after which a page that did not come may be asked for again
const PHONE = 700; // pixels; on a screen no wider, pictures are as on a page, and may be scrolled
const ANYWHERE = { PageDown: 1, PageUp: -1 };
const ELSEWHERE = { ArrowRight: 1, ArrowDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1 };
const TYPED_INTO = "input:not([type=radio]), textarea, select, [contenteditable], [role=combobox], [role=listbox], [role=dialog]";
const NOTHING = { leaves: [] };
const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new Presenter(parent);
  views.set(parent, view);
  view.update(component);
  return () => {
    view.remove();
    views.delete(parent);
  };
}

class Presenter {
  constructor(parent) {
    this.root = element("div", "th-present");
    this.back = this.button("‹", -1);
    this.next = this.button("›", 1);
    this.place = element("span", "th-present-place");
    this.place.setAttribute("role", "status");
    this.title = element("span", "th-present-title");
    this.count = element("span", "th-present-count");
    this.place.append(this.title, this.count);
    this.keys = element("span", "th-present-keys");
    this.clock = new Clock();
    this.root.append(this.back, this.next, this.place, this.clock.root, this.keys);
    parent.append(this.root);
    this.slides = [];
    this.at = 0;
    this.shown = 0;
    this.wanted = null;
    this.way = 0;
    this.leaving = 0;
    this.press = (event) => this.hear(event);
    this.resize = () => this.apply();
    window.addEventListener("keydown", this.press, true);
    window.addEventListener("resize", this.resize);
    this.watcher = new MutationObserver((changes) => {
      if (changes.every(({ target }) => target.closest?.(".th-plot, .th-present"))) return;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.apply(), SETTLE);
    });
  }

  get app() {
    return document.querySelector('[data-testid="stApp"]');
  }

  /** Whether more of the page may be coming. */
  get isRunning() {
    return this.app?.dataset.testScriptState !== "notRunning";
  }

  get main() {
    return document.querySelector('[data-testid="stMainBlockContainer"]');
  }

  button(sign, way) {
    const made = element("button", "th-button", sign);
    made.type = "button";
    made.addEventListener("click", () => this.move(way));
    return made;
  }

  update(component) {
    this.component = component;
    const header = unpack(component.data);
    const isOther = header.place !== this.header?.place;
    this.header = header;
    if (isOther) {
      this.at = 0;
      this.shown = 0;
      this.leaving = 0;
      this.wanted = null;
      this.isBack = this.way < 0; // whoever goes back comes to the end of the page before
      this.way = 0;
      document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
    }
    this.back.setAttribute("aria-label", header.words.back);
    this.next.setAttribute("aria-label", header.words.next);
    this.clock.update(header.clock, header.words);
    this.watcher.observe(this.main, { childList: true, subtree: true });
    this.watcher.observe(this.app, { attributeFilter: ["data-test-script-state"] });
    this.apply();
  }

  /** The screens as the page is now: those that the link asks for, where it does. */
  collect() {
    const found = findSlides(this.main);
    const named = (name) => found.find((slide) => slide.name === name);
    const { slides: names } = this.header;
    const asked = names.map(named).filter(Boolean);
    this.slides = asked.length ? asked : found;
    const name = this.wanted ?? (this.isBack ? names.at(-1) : names[0]);
    // While a page is on its way, parts of it are missing: no other is shown in their place.
    this.isComing = this.isRunning && (name === undefined ? this.isBack : !named(name));
    const last = this.slides.length - 1;
    const place = this.slides.findIndex((slide) => slide.name === name);
    if (place >= 0) this.at = place;
    else if (this.wanted === null) this.at = this.isBack ? last : 0;
    this.at = Math.max(0, Math.min(this.at, last));
  }

  apply() {
    if (!this.header || !this.main) return;
    this.collect();
    const slide = this.isComing ? NOTHING : this.slides[this.at];
    document.documentElement.toggleAttribute("data-whole", !slide);
    if (!slide) return;
    showSlide(this.main, slide);
    this.lines = linesOf(slide);
    if (this.isComing) return;
    if (this.isBack) Object.assign(this, { isBack: false, wanted: slide.name, shown: this.lines.length });
    uncover(this.lines, this.shown);
    setRoom(window.innerWidth > PHONE ? this.measure(slide) : null);
    this.tell(slide);
  }

  /** The screen's height from where the picture begins to the bar, less what stands below it. */
  measure({ leaves, main }) {
    const bar = this.root.closest(".st-key-present_bar")?.getBoundingClientRect().height ?? 0;
    const scrolled = document.querySelector('[data-testid="stMain"]')?.scrollTop ?? 0;
    const top = (main?.getBoundingClientRect().top ?? 0) + scrolled;
    const below = leaves.slice(leaves.indexOf(main) + 1).map((leaf) => leaf.getBoundingClientRect().height);
    const taken = below.reduce((sum, height) => sum + (height ? height + 14 : 0), 0);
    return Math.max(260, Math.floor(window.innerHeight - bar - top - taken - 6));
  }

  tell({ title }) {
    const { words } = this.header;
    const count = this.lines.length;
    this.title.textContent = `${this.header.station}${title}`;
    this.count.textContent = fill(count ? words.place_lines : words.place, {
      screen: this.at + 1, screens: this.slides.length, line: this.shown, lines: count,
    });
    this.place.dataset.screen = this.slides[this.at].name;
    const isLast = this.at === this.slides.length - 1 && this.shown >= count;
    this.keys.textContent = this.shown < count ? words.keys_line : isLast ? this.header.onward : words.keys_screen;
  }

  hear(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (document.querySelector('[role="dialog"], [data-testid="stPopoverBody"]')) return;
    const { key, target } = event;
    const isTyped = target.closest?.(TYPED_INTO);
    if (key === "Escape" && !isTyped) return this.stop(event, () => this.leave());
    if (key === "End" && !isTyped) return this.stop(event, () => this.uncoverAll());
    const way = ANYWHERE[key] ?? (isTyped || this.isUsed(event) ? 0 : ELSEWHERE[key] ?? 0);
    if (way) this.stop(event, () => this.move(way));
  }

  /** Whether a key already means something to what has the focus. */
  isUsed({ key, target }) {
    if (target.closest?.("button, a, summary, [role=radio], input")) return key === " " || !this.root.contains(target);
    return Boolean(target.closest?.(".th-canvas, .th-layer"));
  }

  stop(event, act) {
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  /** One line on; after the last the next screen; after that the next page. Back the same way. */
  move(way) {
    if (this.isComing) this.apply(); // what was awaited may be here by now
    if (this.isComing || Date.now() < this.leaving) return;
    this.clock.begin();
    const count = this.lines?.length ?? 0;
    if (way > 0 && this.shown < count) return this.uncoverTo(this.shown + 1);
    const place = this.at + way;
    if (place < 0 || place >= this.slides.length) return this.go(way);
    this.at = place;
    this.wanted = this.slides[place].name;
    this.shown = way < 0 ? linesOf(this.slides[place]).length : 0;
    document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
    this.apply();
  }

  uncoverTo(count) {
    this.shown = count;
    this.wanted = this.slides[this.at].name;
    uncover(this.lines, count);
    this.lines[count - 1]?.scrollIntoView({ block: "nearest" });
    this.tell(this.slides[this.at]);
  }

  uncoverAll() {
    if (this.lines?.length) this.uncoverTo(this.lines.length);
  }

  go(way) {
    if (this.isRunning) return;
    if (way > 0 ? !this.header.hasNext : !this.header.hasBack) return;
    this.leaving = Date.now() + GIVE_UP;
    this.way = way;
    this.component.setStateValue("go", { way, from: this.header.place, turn: Date.now() });
  }

  leave() {
    this.component.setStateValue("leave", Date.now());
  }

  remove() {
    clearTimeout(this.waiting);
    this.watcher.disconnect();
    this.clock.remove();
    window.removeEventListener("keydown", this.press, true);
    window.removeEventListener("resize", this.resize);
    document.documentElement.removeAttribute("data-whole");
    if (this.main) clear(this.main);
    setRoom(null);
    this.root.remove();
  }
}
