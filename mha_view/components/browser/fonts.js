// The page's fonts as rules that hold the files themselves, for what leaves the page.

const kept = new Map();

/** Every style sheet's rules that the browser lets us read, with the sheet each is from. */
export function allRules() {
  return [...document.styleSheets].flatMap((sheet) => {
    try {
      return [...sheet.cssRules].map((rule) => ({ rule, sheet }));
    } catch {
      return [];
    }
  });
}

/** The families the page has loaded letters of. */
export function loadedFamilies() {
  return new Set([...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => bare(family)));
}

/** A @font-face rule with its file inside; "" where it cannot be had. Fetched once. */
export function inlineFont({ rule, sheet }) {
  if (!kept.has(rule.cssText)) kept.set(rule.cssText, read(rule.cssText, sheet.href ?? document.baseURI));
  return kept.get(rule.cssText);
}

/** The upright faces of the loaded families that a drawing names, files inside. */
export async function fontRules(drawing) {
  const families = new Set([...loadedFamilies()].filter((family) => drawing.includes(family)));
  const faces = allRules().filter(({ rule }) =>
    rule instanceof CSSFontFaceRule && families.has(familyOf(rule)) && rule.style.fontStyle !== "italic");
  return (await Promise.all(faces.map(inlineFont))).join("\n");
}

export const familyOf = (rule) => bare(rule.style.getPropertyValue("font-family"));
const bare = (family) => family.replace(/["']/g, "");

async function read(text, base) {
  const found = /url\(["']?([^"')]+\.woff2[^"')]*)["']?\)/.exec(text);
  const answer = found && (await fetch(new URL(found[1], base)));
  if (!answer?.ok) return "";
  const blob = await answer.blob();
  const data = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(blob);
  });
  return text.replace(/src:[^;}]+/, `src: url("${data}") format("woff2")`);
}
