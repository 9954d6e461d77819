// A range input that turns a figure's frames in the browser; the server hears of its release.

import { element, plain } from "./dom.js";

const STEP = 80; // milliseconds per frame when playing

export function addFrames(view, words) {
  const frames = view.header.figure.frames ?? [];
  if (!frames.length) {
    view.frames?.remove();
    view.frames = view.keepFrame = null;
    return;
  }
  if (!view.frames) build(view);
  const { range, label, play } = view.frames.parts;
  range.max = frames.length - 1;
  if (range.dataset.given !== String(view.header.frame)) {
    range.dataset.given = String(view.header.frame);
    range.value = view.header.frame ?? 0;
  }
  label.firstChild.data = view.header.frames_label ?? "";
  play.setAttribute("aria-label", words.play ?? "▶");
  play.title = words.play ?? "";
  view.keepFrame = () => show(view, Number(range.value));
}

function build(view) {
  const bar = element("div", "th-frames");
  const label = element("label", "");
  const range = element("input", "");
  const reading = element("output", "");
  const play = element("button", "th-button th-play");
  range.type = "range";
  range.min = 0;
  label.append(document.createTextNode(""), range);
  play.textContent = "▶";
  bar.append(play, label, reading);
  bar.parts = { range, label, reading, play };
  view.frames = bar;
  view.canvas.after(bar);
  range.addEventListener("input", () => show(view, Number(range.value)));
  range.addEventListener("change", () =>
    view.component.setStateValue("frame", Number(range.value)));
  play.addEventListener("click", () => toggle(view));
}

/** A figure at the frame that the range input stands at. */
export function framed(view, { data, layout }) {
  const chosen = view.header.figure.frames[Number(view.frames.parts.range.value)];
  if (!chosen) return { data, layout };
  const patched = [...data];
  chosen.data.forEach((part, index) => {
    const trace = chosen.traces?.[index] ?? index;
    patched[trace] = { ...patched[trace], ...plain(part) };
  });
  return { data: patched, layout: { ...layout, ...plain(chosen.layout ?? {}) } };
}

/** Restyles the traces of one frame; at most once for each picture the screen shows. */
function show(view, position) {
  cancelAnimationFrame(view.framing);
  view.framing = requestAnimationFrame(() => {
    const chosen = view.header.figure.frames[position];
    if (!chosen || !view.plotly || !view.built) return;
    view.frames.parts.reading.textContent = chosen.name ?? String(position);
    view.frames.parts.range.setAttribute("aria-valuetext", chosen.name ?? String(position));
    const changes = {};
    const traces = chosen.traces ?? chosen.data.map((_, index) => index);
    chosen.data.forEach((part, index) => {
      for (const [name, value] of Object.entries(plain(part))) {
        changes[name] ??= traces.map(() => undefined);
        changes[name][index] = value;
      }
    });
    view.plotly.update(view.canvas, changes, plain(chosen.layout ?? {}), traces);
  });
}

function toggle(view) {
  const { range, play } = view.frames.parts;
  const stop = () => {
    clearInterval(view.playing);
    view.playing = null;
    play.textContent = "▶";
    view.component.setStateValue("frame", Number(range.value));
  };
  if (view.playing) return stop();
  if (range.value === range.max) range.value = 0;
  play.textContent = "❚❚";
  view.playing = setInterval(() => {
    if (!view.root.isConnected) return clearInterval(view.playing);
    range.stepUp();
    show(view, Number(range.value));
    if (range.value === range.max) stop();
  }, STEP);
}
