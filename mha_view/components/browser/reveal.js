// Brings what a choice has opened into view, where it lies outside.

import { unpack } from "./packet.js";

const turns = new Map(); // by target: a page that is drawn anew is no new choice

export async function render(component) {
  const { target, turn } = unpack(component.data);
  const isNew = turns.has(target) && turns.get(target) !== turn;
  turns.set(target, turn);
  // Presented, a screen is chosen by its keys.
  if (isNew && !document.documentElement.classList.contains("present")) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    document.querySelector(`.st-key-${target}`)?.scrollIntoView({
      block: "nearest", behavior: isStill ? "instant" : "smooth",
    });
  }
  return () => {};
}
