// Numbers as colours: all blocks on one sheet. A canvas each would be a layer each to the browser,
// which it puts together anew for every frame of the page.

const STEPS = 255;

/** The two ramps, as little-endian pixels: place 0 is a masked cell, 1 to 255 the ramp. */
export function readRamps({ signed, weights }, { isDark, empty }) {
  return {
    signed: ramp(signed[Number(isDark)], empty),
    weights: ramp(weights, empty),
  };
}

function ramp(colours, empty) {
  const stops = colours.map(channels);
  const pixels = new Uint32Array(STEPS + 1);
  pixels[0] = pixel(...channels(empty));
  for (let place = 1; place <= STEPS; place += 1) {
    const at = ((place - 1) / (STEPS - 1)) * (stops.length - 1);
    const from = Math.min(Math.floor(at), stops.length - 2);
    pixels[place] = pixel(...stops[from].map((part, n) => part + (stops[from + 1][n] - part) * (at - from)));
  }
  return pixels;
}

const pixel = (red, green, blue) =>
  ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;

/** Red, green, blue of "#rrggbb" or "rgb(…)". */
function channels(colour) {
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}

/** Where a number lies on its ramp, 0 to 255. */
export function shadeOf(value, { limit, isSigned, scale }) {
  if (Number.isNaN(value)) return 0;
  if (isSigned) return Math.round(128 + 127 * Math.max(-1, Math.min(1, value / limit)));
  const share = scale === "sqrt" ? Math.sqrt(value) : scale === "log" ? 1 + Math.log10(Math.max(value, 1e-4)) / 4 : value;
  return Math.round(1 + 254 * Math.max(0, Math.min(1, share)));
}

/** How many pixels of the screen are one of the page's. */
const sharpness = () => Math.max(1, window.devicePixelRatio || 1);

/** Clears a sheet and makes it as large as a layout. */
export function clear(sheet, { width, height }) {
  const sharp = sharpness();
  sheet.width = Math.ceil(width * sharp);
  sheet.height = Math.ceil(height * sharp);
  Object.assign(sheet.style, { width: `${sheet.width / sharp}px`, height: `${sheet.height / sharp}px` });
}

/** Where a box lies among the pixels of a sheet. */
function pixelsOf({ x, y, width, height }) {
  const [left, top, right, bottom] = [x, y, x + width, y + height].map((edge) => Math.round(edge * sharpness()));
  return { left, top, width: Math.max(1, right - left), height: Math.max(1, bottom - top) };
}

/** Paints `numbers` [rows, columns], or ready shades, over a box of the sheet.
 *  `seam` leaves a hair between cells that are large enough for one. */
export function paint(sheet, box, { rows, columns, shade, ramp: pixels, seam }) {
  const sharp = sharpness();
  const { left, top, width: wide, height: high } = pixelsOf(box);
  const pen = sheet.getContext("2d");
  const image = pen.createImageData(wide, high);
  const field = new Uint32Array(image.data.buffer);
  const edges = Array.from({ length: columns + 1 }, (_, column) => Math.round((column * wide) / columns));
  const line = new Uint32Array(wide);
  const hair = seam && wide / columns >= 5 * sharp && high / rows >= 5 * sharp ? Math.round(sharp) : 0;
  for (let row = 0; row < rows; row += 1) {
    line.fill(0);
    for (let column = 0; column < columns; column += 1) {
      line.fill(pixels[shade(row, column)], edges[column], Math.max(edges[column + 1] - hair, edges[column] + 1));
    }
    const from = Math.round((row * high) / rows);
    const to = Math.max(Math.round(((row + 1) * high) / rows) - hair, from + 1);
    for (let y = from; y < to && y < high; y += 1) field.set(line, y * wide);
  }
  pen.putImageData(image, left, top);
}
