// Eight steps through the layer: one sentence each, the rest dimmed.

import { fill } from "./cells.js";
import { element } from "./dom.js";

const STEP_TIME = 5200; // milliseconds a step stands while it plays
const TELL_AFTER = 400;
// What each step is about; the small picture brings its own.
const ABOUT = [
  ["words", "x", "axes"],
  ["x", "project", "q", "k", "v"],
  ["q", "k", "v", "bands", "cut", "q_rot", "k_rot", "v_band"],
  ["q_rot", "k_rot", "turn"],
  ["q_rot", "k_rot", "v_band", "pattern", "heads", "weigh", "ribbons"],
  ["heads", "stack", "concat"],
  ["concat", "output", "out"],
  ["out", "residual", "bypass"],
];

export class Player {
  constructor(view) {
    this.view = view;
    this.step = 0;
  }

  get isStill() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  /** Whether queries and keys are shown as RoPE left them: not yet while they are being cut. */
  get isTurned() {
    return this.step === 0 || this.step > 3;
  }

  isAbout(part) {
    const { small, lit } = this.view.header;
    if (small) return !lit.length || lit.includes(part);
    return !this.step || ABOUT[this.step - 1].includes(part);
  }

  update() {
    const { header } = this.view;
    if (header.small) return;
    if (!this.bar) this.build();
    const { play, back, next, stops } = this.parts;
    const { words } = header;
    play.replaceChildren(element("span", this.playing ? "th-play-sign th-two" : "th-play-sign"), this.playLabel(words));
    for (const [button, key] of [[back, "back"], [next, "next"]]) {
      button.setAttribute("aria-label", words[key] ?? "");
      button.title = words[key] ?? "";
    }
    stops.setAttribute("aria-label", words.steps ?? "");
    header.step_names.forEach((name, place) => {
      const stop = stops.children[place];
      stop.setAttribute("aria-label", fill(words.stop ?? "{name}", { step: place + 1, name }));
      stop.title = name;
    });
    this.say();
  }

  playLabel(words) {
    if (this.isStill) return words.step_through ?? "";
    return (this.playing ? words.pause : words.play) ?? "";
  }

  build() {
    this.bar = element("div", "th-layer-bar");
    const play = element("button", "th-button th-layer-play");
    const back = element("button", "th-button th-step", "‹");
    const next = element("button", "th-button th-step", "›");
    const stops = element("div", "th-stops");
    stops.setAttribute("role", "group");
    this.view.header.step_names.forEach((_, place) => {
      const stop = element("button", "th-stop");
      stop.addEventListener("click", () => this.go(place + 1));
      stops.append(stop);
    });
    const said = element("p", "th-said");
    said.setAttribute("aria-live", "polite");
    play.addEventListener("click", () => this.toggle());
    back.addEventListener("click", () => this.go(Math.max(0, this.step - 1)));
    next.addEventListener("click", () => this.go(Math.min(ABOUT.length, this.step + 1)));
    this.bar.append(play, back, next, stops, said);
    this.parts = { play, back, next, stops, said };
    this.view.root.insertBefore(this.bar, this.view.over);
  }

  /** The step's sentence; without a step, what can be done here. */
  say() {
    const { header } = this.view;
    const { said, stops, back, next } = this.parts;
    [...stops.children].forEach((stop, place) => {
      const isNow = place + 1 === this.step;
      stop.classList.toggle("th-now", isNow);
      stop.classList.toggle("th-past", place + 1 < this.step);
      if (isNow) stop.setAttribute("aria-current", "step");
      else stop.removeAttribute("aria-current");
    });
    // Not `disabled`: the focus would be lost, and with it the keys.
    back.setAttribute("aria-disabled", String(this.step === 0));
    next.setAttribute("aria-disabled", String(this.step === ABOUT.length));
    const { words } = header;
    const lead = fill(words.lead ?? "", { step: this.step, all: ABOUT.length, name: header.step_names[this.step - 1] });
    // Written by our own server, words of the sentence escaped.
    const html = this.step ? `<span class="th-lead">${lead}</span> ${header.says[this.step - 1]}` : words.invite ?? "";
    if (html !== this.saidHtml) said.innerHTML = this.saidHtml = html;
    this.view.root.dataset.step = this.step;
  }

  toggle() {
    if (this.isStill) return this.go(this.step === ABOUT.length ? 1 : this.step + 1);
    if (this.playing) {
      this.stop();
      return this.tell();
    }
    this.show(this.step === ABOUT.length ? 1 : this.step + 1);
    this.wait();
    this.update();
  }

  wait() {
    this.playing = setTimeout(() => {
      if (!this.view.root.isConnected) return this.stop();
      if (document.hidden) return this.wait();
      this.show(this.step + 1);
      if (this.step < ABOUT.length) return this.wait();
      this.stop();
      this.tell();
    }, STEP_TIME);
  }

  stop() {
    clearTimeout(this.playing);
    this.playing = null;
    if (this.bar) this.update();
  }

  /** A step the reader chose: it stands until the next one. */
  go(step) {
    this.stop();
    this.show(step);
    this.tell();
  }

  tell() {
    this.view.tell({ step: this.step }, TELL_AFTER);
  }

  show(step) {
    const wasTurned = this.isTurned;
    this.step = step;
    const { view } = this;
    if (!this.bar || !view.layout) return;
    this.say();
    if (wasTurned !== this.isTurned) view.draw();
    else view.light();
    this.reveal();
  }

  /** On a narrow screen: brings what the step is about into view, sideways only. */
  reveal() {
    if (!this.step) return;
    const { scroller, layout } = this.view;
    if (scroller.scrollWidth <= scroller.clientWidth) return;
    const boxes = layout.boxes.filter(({ name }) => ABOUT[this.step - 1].includes(name));
    const left = Math.min(...boxes.map(({ x }) => x));
    const right = Math.max(...boxes.map(({ x, width }) => x + width));
    const middle = (left + right - scroller.clientWidth) / 2;
    scroller.scrollTo({ left: middle, behavior: this.isStill ? "instant" : "smooth" });
  }

  press(event) {
    if (!this.bar?.contains(event.target)) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const moves = { ArrowLeft: Math.max(0, this.step - 1), ArrowRight: Math.min(ABOUT.length, this.step + 1), Home: 1, End: ABOUT.length, Escape: 0 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    this.go(moves[event.key]);
  }
}
