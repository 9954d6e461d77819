// The stage's SVG: nodes made once, and nodes that follow a list.

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, values = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
  return node;
}

export function group(part) {
  return make("g", { "data-part": part });
}

export function text(words, x, y, kind, index = "") {
  const made = make("text", { x, y, class: kind, "text-anchor": "middle" });
  made.textContent = words;
  if (index) {
    const low = make("tspan", { dy: "0.25em", "font-size": "0.75em" });
    low.textContent = index;
    made.append(low);
  }
  return made;
}

/** Makes `parent` hold what the list describes: nodes that stand are kept, and touched only where
 *  they differ, since a new node costs style, layout and paint.
 *  An entry: its tag, its values, and its words or its own parts. */
export function follow(parent, wanted) {
  wanted.forEach(({ tag, values, words = "", parts = null }, place) => {
    let node = parent.childNodes[place];
    if (node?.nodeName !== tag) {
      const made = make(tag);
      if (node) node.replaceWith(made);
      else parent.append(made);
      node = made;
    }
    const before = node.drawn ?? {};
    for (const name of Object.keys(before)) if (!(name in values)) node.removeAttribute(name);
    for (const [name, value] of Object.entries(values)) if (before[name] !== value) node.setAttribute(name, value);
    node.drawn = values;
    if (parts) follow(node, parts);
    else if (words !== node.textContent) node.textContent = words;
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}
