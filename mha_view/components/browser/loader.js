// Goes along with every component. Everything else is fetched once, from the app itself.

const newest = new WeakMap();
const decode = (bytes) => new TextDecoder().decode(bytes);

function readHeader(packet) {
  const length = new DataView(packet.buffer, packet.byteOffset, 4).getUint32(0, true);
  return JSON.parse(decode(packet.subarray(4, 4 + length)));
}

function sayMissing(parent, header, retry) {
  const note = document.createElement("div");
  note.className = "th-missing";
  note.setAttribute("role", "alert");
  note.style.cssText =
    "padding: 1rem; border: 1px solid var(--st-border-color); border-radius: 0.5rem;";
  note.append(header.words.script_missing ?? "");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = header.words.script_retry ?? "↻";
  button.style.cssText =
    "margin-inline-start: 1ch; font: inherit; color: var(--st-link-color); background: none;" +
    "border: 0; text-decoration: underline; cursor: pointer;";
  button.addEventListener("click", retry);
  note.append(button);
  parent.querySelector(".th-missing")?.remove();
  parent.append(note);
}

/** About how high a picture will be, in pixels: known where its height is given, else its tiles'. */
function roomFor({ height: tall, low, tiles, reserve }, width) {
  const height = matchMedia("(max-width: 640px)").matches ? low ?? tall : tall;
  if (!tiles) return height ?? reserve ?? 0;
  const columns = Math.min(width < 560 ? tiles.narrow : tiles.columns, tiles.count);
  const cell = Math.min(tiles.largest, Math.max(1, (width - 90) / (columns * tiles.breadth)));
  return height ?? Math.round(Math.ceil(tiles.count / columns) * (tiles.height * cell + 30) + 110);
}

/** Draws what a component was given; until that is done its place is `aria-busy`.
 *  Streamlit takes a drawing back as soon as a newer one has overtaken it. The newer one is on the
 *  same node, which must stay: only what is newest can be taken back. */
export default async function mount(component, attempt = 0) {
  const parent = component.parentElement;
  const header = readHeader(component.data);
  // What stands below must not jump when the picture arrives.
  if (!newest.has(parent)) parent.style.minHeight = `${roomFor(header, parent.clientWidth)}px`;
  newest.set(parent, component);
  parent.setAttribute("aria-busy", "true");
  const query = attempt ? `?attempt=${attempt}` : "";
  try {
    const module = await import(new URL(header.addresses.module + query, location.origin));
    parent.querySelector(".th-missing")?.remove();
    const remove = await module.render(component);
    return () => newest.get(parent) === component && remove();
  } catch (error) {
    console.warn("A component of the page could not be loaded:", error);
    sayMissing(parent, header, () => mount(component, attempt + 1));
  } finally {
    if (newest.get(parent) === component) {
      parent.setAttribute("aria-busy", "false");
      parent.style.minHeight = "";
    }
  }
}
