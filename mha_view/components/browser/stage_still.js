// The stage as it stands, without anything that needs the app.

import { element } from "./dom.js";
import { escapeHtml } from "./saved.js";

const LEFT_OUT = ".th-layer-bar .th-button, .th-stops, .th-layer-over, .th-live";

/** The drawing as HTML: its numbers as images, its buttons and links as plain words. */
export function stillOf(root, alt) {
  const copy = root.cloneNode(true);
  const canvases = [...root.querySelectorAll("canvas")];
  [...copy.querySelectorAll("canvas")].forEach((node, index) => {
    const image = element("img", node.className);
    Object.assign(image, { src: canvases[index].toDataURL(), alt: "" });
    replace(node, image);
  });
  copy.querySelectorAll(LEFT_OUT).forEach((node) => node.remove());
  copy.querySelectorAll("button, a").forEach((node) => {
    const plain = element("span", node.className);
    plain.append(...node.childNodes);
    replace(node, plain);
  });
  return `<div class="${copy.className}" role="img" aria-label="${escapeHtml(alt)}">${copy.innerHTML}</div>`;
}

function replace(node, by) {
  by.style.cssText = node.style.cssText;
  node.replaceWith(by);
}
