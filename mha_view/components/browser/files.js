// Files a reader can take away: every one holds the exact numbers and the settings.

const text = (value) => new TextEncoder().encode(value);

// --- Numbers -------------------------------------------------------------------------------

/** The shortest decimal that gives back the same float32 (or the same double). */
export function exactNumber(value, isFloat32) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (!isFloat32) return String(value);
  for (let digits = 6; digits < 10; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

/** What each place on an axis is called, where it has a name: axis word → names. */
const namesOf = (labels, axes) =>
  Object.fromEntries(axes.filter((word) => labels[word]?.length).map((word) => [word, labels[word]]));

/** A field as a table reads it back. What a spreadsheet would run as a formula stays text. */
function field(content) {
  const safe = /^[=+\-@\t\r]./su.test(content) && Number.isNaN(Number(content)) ? `'${content}` : content;
  return /[",\r\n]|^\s|\s$/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line for each number: array, its indices by axis word, each with its name, and the value.
 *  The settings stand in a column of their own, in its first line, so that any reader of tables
 *  opens the file as it is. */
export function csv({ arrays, axes = {}, labels = {}, settings }) {
  const named = Object.entries(arrays).map(([name, tensor]) =>
    [name, tensor, axes[name] ?? tensor.shape.map((_, axis) => `axis_${axis}`)]);
  const axisWords = [...new Set(named.flatMap(([, , own]) => own))];
  const called = namesOf(labels, axisWords);
  const heads = axisWords.flatMap((word) => (called[word] ? [word, `${word}_name`] : [word]));
  const lines = [["array", ...heads, "value", "settings"].map(field).join(",")];
  let told = field(JSON.stringify(settings));
  for (const [name, { values, shape }, own] of named) {
    const columns = axisWords.map((word) => own.indexOf(word));
    const isFloat32 = values instanceof Float32Array;
    const place = shape.map(() => 0);
    for (let index = 0; index < values.length; index += 1) {
      const places = columns.flatMap((axis, at) => {
        const index = axis < 0 ? "" : place[axis];
        const names = called[axisWords[at]];
        return names ? [index, field(names[index] ?? "")] : [index];
      });
      lines.push([field(name), ...places, exactNumber(values[index], isFloat32), told].join(","));
      told = "";
      for (let axis = shape.length - 1; axis >= 0 && ++place[axis] === shape[axis]; axis -= 1) {
        place[axis] = 0;
      }
    }
  }
  return new Blob([lines.join("\n"), "\n"], { type: "text/csv;charset=utf-8" });
}

export const NUMPY_TYPES = new Map([
  [Uint8Array, "|u1"], [Int8Array, "|i1"], [Uint16Array, "<u2"], [Int16Array, "<i2"],
  [Uint32Array, "<u4"], [Int32Array, "<i4"], [Float32Array, "<f4"], [Float64Array, "<f8"],
]);

/** An array as NumPy's .npy, format 1.0. */
export function npy({ values, shape }) {
  const type = NUMPY_TYPES.get(values.constructor);
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  return npyFile(type, sizes, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

function npyFile(type, sizes, content) {
  let header = `{'descr': '${type}', 'fortran_order': False, 'shape': (${sizes}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + "\n";
  const bytes = new Uint8Array(10 + header.length + content.length);
  bytes.set([0x93, ...text("NUMPY"), 1, 0, header.length & 255, header.length >> 8]);
  bytes.set(text(header), 10);
  bytes.set(content, 10 + header.length);
  return bytes;
}

const MOST_COMMENT = 65_535; // bytes, by the format of the archive

/** Arrays in one archive, as `numpy.load` reads it: nothing in it but the numbers. What they are
 *  called along their axes and the settings stand in the archive's comment, as JSON; of a text too
 *  long for that, its beginning. */
export function npz({ arrays, axes = {}, labels = {}, settings }) {
  const used = [...new Set(Object.keys(arrays).flatMap((name) => axes[name] ?? []))];
  const files = Object.entries(arrays).map(([name, tensor]) => [`${name}.npy`, npy(tensor)]);
  const about = { settings, axes, names: namesOf(labels, used) };
  return zip(files, comment(about));
}

function comment(about) {
  const whole = text(JSON.stringify(about));
  if (whole.length <= MOST_COMMENT) return whole;
  const said = [...(about.settings?.text ?? "")];
  if (said.length < 2) return about.names ? comment({ ...about, names: undefined }) : whole.slice(0, 0);
  const cut = said.slice(0, Math.floor(said.length / 2)).join("");
  return comment({ ...about, settings: { ...about.settings, text: cut, text_is_cut: true } });
}

/** A zip archive of stored (not compressed) files; PKWARE's APPNOTE, sections 4.3.7 to 4.3.16. */
export function zip(files, comment = new Uint8Array()) {
  const parts = [];
  const directory = [];
  let start = 0;
  for (const [name, bytes] of files) {
    const label = text(name);
    // Version 2.0, names in UTF-8, stored, 1 January 1980, checksum, sizes, lengths of names.
    const about = numbers([20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [crc32(bytes), 4],
      [bytes.length, 4], [bytes.length, 4], [label.length, 2], [0, 2]);
    parts.push(numbers([0x04034b50, 4]), about, label, bytes);
    directory.push(numbers([0x02014b50, 4], [20, 2]), about,
      numbers([0, 2], [0, 2], [0, 2], [0, 4], [start, 4]), label);
    start += 30 + label.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = numbers([0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2],
    [size, 4], [start, 4], [comment.length, 2]);
  return new Blob([...parts, ...directory, end, comment], { type: "application/zip" });
}

/** Little-endian integers, each given as [value, bytes]. */
function numbers(...pairs) {
  return Uint8Array.from(pairs.flatMap(([value, size]) =>
    Array.from({ length: size }, (_, byte) => (value >>> (8 * byte)) & 255)));
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

// --- Pictures ------------------------------------------------------------------------------

/** A PNG that says how large it is on paper, `pixels` for each of the screen's, and holds `texts`,
 *  by name, in iTXt chunks (UTF-8), which image tools show. */
export function png(address, pixels, texts) {
  const bytes = Uint8Array.from(atob(address.split(",")[1]), (letter) => letter.charCodeAt(0));
  const perMetre = Math.round((pixels * 96) / 0.0254);
  const chunks = [
    chunk("pHYs", [...big(perMetre), ...big(perMetre), 1]),
    ...Object.entries(texts).map(([name, content]) => chunk("iTXt", [...text(name), 0, 0, 0, 0, 0, ...text(content)])),
  ];
  const afterHeader = 33; // signature 8, then IHDR: length 4, name 4, content 13, checksum 4
  return new Blob([bytes.subarray(0, afterHeader), ...chunks, bytes.subarray(afterHeader)], { type: "image/png" });
}

const big = (value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

function chunk(name, content) {
  const named = Uint8Array.from([...text(name), ...content]);
  return Uint8Array.from([...big(content.length), ...named, ...big(crc32(named))]);
}

export function svg(source) {
  return new Blob([source], { type: "image/svg+xml" });
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
