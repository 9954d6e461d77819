// Presenting: how much of the screen a picture has, and how large its letters are.

export const LETTER = 20; // pixels; what the last row can still read
const CHANGED = "presenting-changed";
const LARGER = 1.7; // than on a page
const APART = 2; // pixels between two labels that stand under each other

/** Pixels that the picture on the screen has for its height; null where nothing is presented. */
export function room() {
  const given = parseFloat(document.documentElement.dataset.room ?? "");
  return Number.isNaN(given) ? null : given;
}

/** Tells every picture how much room there is; null ends it. */
export function setRoom(pixels) {
  if (room() === pixels) return;
  if (pixels === null) delete document.documentElement.dataset.room;
  else document.documentElement.dataset.room = pixels;
  window.dispatchEvent(new Event(CHANGED));
}

/** Calls back at each change of the room; returns what ends that. */
export function onRoom(call) {
  window.addEventListener(CHANGED, call);
  return () => window.removeEventListener(CHANGED, call);
}

/** A figure's layout or trace with every letter, line and mark large enough for a hall. */
export function enlarge(part, key = "") {
  if (Array.isArray(part)) return part.map((each) => enlarge(each, key));
  if (part === null || typeof part !== "object" || Object.getPrototypeOf(part) !== Object.prototype) return part;
  const made = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, enlarge(value, name)]));
  if (/font$/i.test(key)) {
    if (typeof made.size === "number") made.size = Math.max(LETTER, Math.round(made.size * LARGER));
  } else if (key === "marker" && typeof made.size === "number") made.size *= LARGER;
  else if (key === "line" && typeof made.width === "number") made.width *= LARGER;
  if (made.type === "log") made.dtick ??= 1; // figures between the decades would be printed smaller
  return made;
}

/** An axis whose labels would lie on one another keeps every second of them, or fewer.
 *  `pixels`: how far two neighbouring places lie apart. */
export function thin(axis, pixels) {
  if (!axis?.tickvals?.length || axis.showticklabels === false) return axis;
  const size = Math.max(LETTER, axis.tickfont?.size ?? LETTER);
  const apart = smallestStep(axis.tickvals) * pixels;
  const step = Math.max(1, Math.ceil((size + APART) / apart));
  const isShown = (_, index) => index % step === 0;
  return {
    ...axis, tickfont: { ...axis.tickfont, size },
    tickvals: [...axis.tickvals].filter(isShown), ticktext: axis.ticktext?.filter(isShown),
  };
}

function smallestStep(places) {
  let least = Infinity;
  for (let index = 1; index < places.length; index += 1) {
    least = Math.min(least, Math.abs(places[index] - places[index - 1]) || Infinity);
  }
  return Number.isFinite(least) ? least : 1;
}
