// How long the class has run beside how long it was to run; kept in this tab alone.

import { element } from "./dom.js";
import { fill } from "./cells.js";

const KEPT = "twelve-heads-clock";

export class Clock {
  constructor() {
    this.root = element("span", "th-clock");
    this.face = element("button", "th-button");
    this.zero = element("button", "th-button", "↺");
    this.face.addEventListener("click", () => this.turn());
    this.zero.addEventListener("click", () => this.reset());
    for (const button of [this.face, this.zero]) button.type = "button";
    this.root.append(this.face, this.zero);
    this.ticking = setInterval(() => this.tell(), 1000);
  }

  /** `plan`: { until, total } in minutes, or null where nothing is planned. */
  update(plan, words) {
    Object.assign(this, { plan, words });
    this.face.title = words.clock_help;
    this.zero.setAttribute("aria-label", words.clock_zero);
    this.tell();
  }

  get state() {
    try {
      return JSON.parse(sessionStorage.getItem(KEPT)) ?? { passed: 0, since: null };
    } catch {
      return { passed: 0, since: null };
    }
  }

  set state(state) {
    sessionStorage.setItem(KEPT, JSON.stringify(state));
  }

  get seconds() {
    const { passed, since } = this.state;
    return Math.floor(passed + (since === null ? 0 : (Date.now() - since) / 1000));
  }

  /** Starts or halts. */
  turn() {
    const { passed, since } = this.state;
    this.state = since === null ? { passed, since: Date.now() } : { passed: this.seconds, since: null };
    this.tell();
  }

  /** Starts with the class, once: whoever has halted it has a reason. */
  begin() {
    if (this.plan && !this.seconds && this.state.since === null) this.turn();
  }

  reset() {
    this.state = { passed: 0, since: null };
    this.tell();
  }

  tell() {
    if (!this.words) return;
    const { seconds } = this;
    const shown = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const { until, total } = this.plan ?? {};
    const text = this.plan ? fill(this.words.clock_plan, { shown, until, total }) : shown;
    if (this.face.textContent !== text) this.face.textContent = text;
    this.face.setAttribute("aria-label", fill(this.words.clock, { shown }));
    this.root.classList.toggle("th-late", Boolean(this.plan) && seconds > until * 60);
    const isStill = this.state.since === null;
    this.root.classList.toggle("th-still", isStill);
    this.zero.hidden = !isStill || !seconds;
  }

  remove() {
    clearInterval(this.ticking);
  }
}
