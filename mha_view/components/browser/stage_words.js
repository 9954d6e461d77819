// The sentence over the stage: every token a button, reached with the arrow keys.

import { element } from "./dom.js";

export function addWords(view) {
  const { header, sentence } = view;
  sentence.hidden = header.small;
  if (header.small) return;
  sentence.setAttribute("role", "group");
  sentence.setAttribute("aria-label", header.words.words ?? "");
  const stamp = [...header.tokens, ...header.strange].join("\0");
  if (stamp === view.wordStamp) return;
  view.wordStamp = stamp;
  view.lightStamp = null;
  view.wordButtons = header.tokens.map((token, place) => wordButton(view, token, place));
  sentence.replaceChildren(...view.wordButtons);
}

function wordButton(view, token, place) {
  const made = element("button", "th-piece", token);
  made.dataset.token = place;
  made.classList.toggle("th-strange", view.header.strange.includes(place));
  const point = (isOn) => () => view.point(isOn ? { token: place } : null);
  made.addEventListener("pointerenter", point(true));
  made.addEventListener("pointerleave", point(false));
  made.addEventListener("focus", () => {
    view.point({ token: place });
    view.live.textContent = looks(view, place);
  });
  made.addEventListener("blur", point(false));
  made.addEventListener("click", () => view.choose({ token: place }));
  made.addEventListener("keydown", (event) => {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = view.wordButtons.length - 1;
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    view.wordButtons[Math.min(Math.max(to, 0), last)].focus();
  });
  return made;
}

/** What a token looks at in the chosen head, for a reader who cannot see the ribbons. */
function looks(view, place) {
  const { tokens, words, heads } = view.header;
  const row = (view.numbers.row(view.head, place, 0.05) ?? []).slice(0, 3);
  const keys = row.map(({ key, weight }) => `${tokens[key]} ${weight.toFixed(3)}`).join(", ");
  return (words.looks ?? "{head}: {token}: {keys}").replace(/\{(\w+)\}/g, (_, name) => ({ head: heads[view.head], token: tokens[place], keys })[name] ?? "");
}
