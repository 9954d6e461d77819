// The stage's lines: how the blocks hang together.

import { fill } from "./cells.js";
import { band, flow, LANE, OF_KV } from "./stage_layout.js";
import { group, make, text } from "./stage_svg.js";

export class Lines {
  constructor(board) {
    // They lie under the blocks that they join.
    this.svg = make("svg", { class: "th-layer-lines", "aria-hidden": "true" });
    board.append(this.svg);
  }

  draw(layout, view) {
    this.layout = layout;
    this.svg.setAttribute("width", layout.width);
    this.svg.setAttribute("height", layout.height);
    const { header } = view;
    this.flows = { cut: [], stack: [] }; // by head
    const of = (name) => layout.boxes.find((one) => one.name === name);
    this.edges = Object.fromEntries([...new Set(layout.boxes.map(({ name }) => name))].map((name) => [name, of(name)]));
    const parts = [this.project(view), this.cut(view), this.stack(view), this.output(view), this.bypass(view)];
    if (!header.small) parts.push(...this.ticks(view), ...this.hints(view));
    this.parts = parts;
    this.lane = this.openLane(view);
    this.svg.replaceChildren(this.lane, ...parts);
  }

  /** The ground of the chosen head's lane. */
  openLane({ head, header }) {
    const { lanes, room, letter } = this.layout;
    const { q_rot: first, heads: last } = this.edges;
    const pad = header.small ? 1 : 0.35 * letter;
    return make("rect", {
      x: first.x - pad, y: lanes[head].y - room - (room ? 0 : pad), width: last.x + last.width - first.x + 2 * pad,
      height: lanes[head].height + room + (room ? pad : 2 * pad), rx: 4, class: "th-open", style: `--head: ${header.colours[head]}`,
    });
  }

  project() {
    const { x, q } = this.edges;
    const made = group("project");
    made.append(make("path", { d: flow(rightOf(x), leftOf(q)), class: "th-flow" }));
    return made;
  }

  cut({ header }) {
    const { v, q, q_rot: first } = this.edges;
    const made = group("cut");
    for (const { head, y, height } of this.layout.lanes) {
      const own = band(q, head, header.sizes.heads);
      const d = this.flows.cut[head] = flow({ ...own, x: v.x + v.width }, { x: first.x, y, height });
      made.append(make("path", { d, class: "th-flow", "data-lane": head, style: `--head: ${header.colours[head]}` }));
    }
    return made;
  }

  stack({ header }) {
    const { heads: last, concat } = this.edges;
    const made = group("stack");
    for (const { head, y, height } of this.layout.lanes) {
      const own = band(concat, head, header.sizes.heads);
      const d = this.flows.stack[head] = flow({ x: last.x + last.width, y, height }, own);
      made.append(make("path", { d, class: "th-flow", "data-lane": head, style: `--head: ${header.colours[head]}` }));
    }
    return made;
  }

  /** W_o between Concat and O, and O's way to the sum. */
  output({ header }) {
    const { concat, out, residual } = this.edges;
    const { letter, middle } = this.layout;
    const made = group("output");
    made.append(
      make("path", { d: flow(rightOf(concat), leftOf(out)), class: "th-flow" }),
      make("line", { x1: out.x + out.width, x2: residual.x, y1: middle, y2: middle, class: "th-way th-sum" }),
    );
    if (header.small) return made;
    const side = 1.6 * letter;
    const at = (concat.x + concat.width + out.x) / 2;
    made.append(make("rect", { x: at - side / 2, y: middle - side / 2, width: side, height: side, rx: 3, class: "th-matrix" }));
    made.append(text("W", at, middle + 0.22 * letter, "th-on-matrix", "o"));
    return made;
  }

  /** From the stream before the norm, round the layer, to the sum. */
  bypass({ header }) {
    const { x, out, residual } = this.edges;
    const { letter, middle, bottom, foot } = this.layout;
    const made = group("bypass");
    const start = x.y + x.height - (header.small ? 0.15 : 0.5) * letter;
    const at = (out.x + out.width + residual.x) / 2;
    const low = bottom + foot - (header.small ? 0.2 : 0.5) * letter;
    const radius = (header.small ? 0.3 : 0.62) * letter;
    const left = header.small ? 2 : x.x - 1.6 * letter;
    made.append(
      make("path", { d: `M${x.x - 1} ${start}H${left}V${low}H${at}V${middle + radius}`, class: "th-way th-round" }),
      make("circle", { cx: at, cy: middle, r: radius, class: "th-plus" }),
      make("path", { d: `M${at - radius * 0.6} ${middle}h${radius * 1.2}M${at} ${middle - radius * 0.6}v${radius * 1.2}`, class: "th-plus" }),
    );
    if (!header.small) made.append(text(header.words.bypass ?? "", (x.x + residual.x) / 2, low + 0.25 * letter, "th-hint th-over"));
    return made;
  }

  /** A head's colour beside its band, wherever a tensor is whole. */
  ticks({ header }) {
    const [made, stacked] = [group("bands"), group("stack")];
    const { heads, kvHeads, group: shared } = header.sizes;
    for (const [name, count] of [["q", heads], ["k", kvHeads], ["v", kvHeads], ["concat", heads]]) {
      for (let place = 0; place < count; place += 1) {
        const own = band(this.edges[name], place, count);
        const head = count === heads ? place : place * shared;
        (name === "concat" ? stacked : made).append(make("rect", {
          x: own.x - 5, y: own.y + 0.5, width: 3, height: Math.max(own.height - 1, 1), fill: header.colours[head], "data-lane": head,
        }));
      }
    }
    // Heads that share keys and values: a bracket over their lanes, beside the blocks they share.
    for (let place = 0; shared > 1 && place < kvHeads; place += 1) {
      const [first, last] = [this.layout.lanes[place * shared], this.layout.lanes[(place + 1) * shared - 1]];
      for (const name of OF_KV) {
        const { x, width } = this.edges[name];
        const [left, top, foot] = [x + width + 3, first.y, last.y + last.height];
        made.append(make("path", { d: `M${left} ${top}h3V${foot}h-3`, class: "th-shared", style: `--head: ${header.colours[place * shared]}` }));
      }
    }
    return [made, stacked];
  }

  /** Under the lanes: what happens there. Beside and under X: which way features and tokens run. */
  hints({ header }) {
    const { words, sizes, rope } = header;
    const { letter, bottom, boxes } = this.layout;
    const { x, q, k, v, q_rot: turned, k_rot: other, v_band: still, pattern, heads, concat, out } = this.edges;
    const low = bottom + 1.15 * letter;
    const isNarrow = pattern.x - still.x < 4 * letter; // the two words beneath them would meet
    const between = (left, right) => (left.x + left.width + right.x) / 2;
    const down = text(fill(words.down ?? "", { d: sizes.dModel }), 0, 0, "th-hint");
    down.setAttribute("transform", `translate(${x.x - 0.85 * letter} ${x.y}) rotate(90)`);
    down.setAttribute("text-anchor", "start");
    const across = text(fill(words.across ?? "", { S: sizes.tokens }), x.x - 1.1 * letter, x.y + x.height + 1.15 * letter, "th-hint");
    across.setAttribute("text-anchor", "start");
    const named = (role, place) =>
      text("W", between(x, q) - 1, q.y + q.height / 2 + (place - 1) * 1.3 * letter + 0.2 * letter, `th-on-matrix ${role}`, role[0]);
    const breaks = boxes.filter(({ isBroken }) => isBroken).map((box) => {
      const y = box.y + box.height * 0.78;
      return make("path", { d: `M${box.x - 4} ${y + 3}l${box.width + 8} -6m0 5l${-box.width - 8} 6`, class: "th-break" });
    });
    if (breaks.length) breaks.push(text(words.broken ?? "", k.x + k.width / 2, low, "th-hint"));
    const parts = {
      axes: [down, across, ...breaks],
      project: ["query", "key", "value"].map(named),
      cut: [text(fill(words.cut ?? "", { n: sizes.heads }), between(v, turned), low, "th-hint")],
      turn: [
        text(words[rope ? "turn" : "no_turn"] ?? "", (turned.x + other.x + other.width) / 2, low, "th-hint"),
        ...(rope ? [text(words.no_touch ?? "", still.x + still.width / 2, low, "th-hint th-crowded")] : []),
      ],
      weigh: [isNarrow
        ? text("softmax", pattern.x + pattern.width / 2 + 0.35 * letter, low, "th-hint pattern")
        : text(`softmax(·/√${sizes.dHead})`, pattern.x + pattern.width / 2, low, "th-hint pattern")],
      stack: [text(words.stack ?? "", between(heads, concat), low, "th-hint")],
      output: [text(words.mix ?? "", between(concat, out), low, "th-hint")],
    };
    return Object.entries(parts).map(([name, nodes]) => {
      const made = group(name);
      made.append(...nodes);
      return made;
    });
  }

  /** Dims the lines that a step is not about. */
  dim(player) {
    this.lane.classList.toggle("th-dim", !LANE.some((name) => player.isAbout(name)));
    for (const part of this.parts) part.classList.toggle("th-dim", !player.isAbout(part.dataset.part));
  }
}

const rightOf = (box) => ({ ...box, x: box.x + box.width });
const leftOf = (box) => box;
