// Brings what a choice has opened into view, where it lies outside.

import { unpack } from "./packet.js";

const turns = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const { target, turn } = unpack(component.data);
  const isNew = turns.has(parent) && turns.get(parent) !== turn;
  turns.set(parent, turn);
  // Presented, a screen is chosen by its keys.
  if (isNew && !document.documentElement.classList.contains("present")) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    document.querySelector(`.st-key-${target}`)?.scrollIntoView({
      block: "nearest", behavior: isStill ? "instant" : "smooth",
    });
  }
  return () => turns.delete(parent);
}
