// The link of what is on the screen: to be read, selected, and copied.

import { element } from "./dom.js";
import { loadStyles } from "./load.js";
import { unpack } from "./packet.js";

await loadStyles("plot.css", "share.css");

const views = new WeakMap();

export async function render(component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? build(parent);
  views.set(parent, view);
  const { shown, escaped, words } = unpack(component.data);
  view.link.value = shown;
  view.link.setAttribute("aria-label", words.link);
  view.copy.textContent = words.copy;
  view.copy.onclick = () => copy(view, shown, words);
  view.other.textContent = words.copy_escaped;
  view.other.title = words.copy_escaped_why;
  view.other.hidden = !escaped;
  view.other.onclick = () => copy(view, escaped, words);
  return () => {
    view.root.remove();
    views.delete(parent);
  };
}

function build(parent) {
  const view = {
    root: element("div", "th-share"),
    link: element("textarea", "th-share-link"),
    copy: element("button", "th-button"),
    other: element("button", "th-button"),
    said: element("span", "th-share-said"),
  };
  view.link.readOnly = true;
  view.link.rows = 3;
  view.link.spellcheck = false;
  view.link.addEventListener("focus", () => view.link.select());
  view.said.setAttribute("role", "status");
  for (const button of [view.copy, view.other]) button.type = "button";
  view.root.append(view.link, view.copy, view.other, view.said);
  parent.append(view.root);
  return view;
}

async function copy(view, text, words) {
  view.said.textContent = (await write(view, text)) ? words.copied : words.not_copied;
}

/** Into the clipboard; where a browser keeps that for pages under https, by way of a selection. */
async function write(view, text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const shown = view.link.value;
    view.link.value = text;
    view.link.select();
    const done = document.execCommand("copy");
    view.link.value = shown;
    return done;
  }
}
