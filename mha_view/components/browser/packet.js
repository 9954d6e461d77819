// Reads what mha_view/components/packet.py writes.

const TYPES = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array,
  uint32: Uint32Array, int32: Int32Array, float32: Float32Array, float64: Float64Array,
};

/** An array of numbers and its shape; `rows()` cuts a matrix into views of its rows. */
export class Tensor {
  constructor(values, shape) {
    this.values = values;
    this.shape = shape;
  }

  get size() {
    return this.values.length;
  }

  rows(start = 0) {
    const [height, width] = this.shape.slice(-2);
    return Array.from({ length: height }, (_, row) =>
      this.values.subarray(start + row * width, start + (row + 1) * width));
  }
}

/** Returns the header with a Tensor wherever Python had an array. */
export function unpack(packet) {
  // Copied once, so that every array starts at a multiple of its element's size.
  const buffer = packet.slice().buffer;
  const length = new DataView(buffer).getUint32(0, true);
  const tree = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let start = 4 + length;
  const tensors = tree.arrays.map(({ dtype, shape }) => {
    const count = shape.reduce((product, size) => product * size, 1);
    const values = new TYPES[dtype](buffer, start, count);
    start += Math.ceil(values.byteLength / 8) * 8;
    return new Tensor(values, shape);
  });
  delete tree.arrays;
  return restore(tree, tensors);
}

function restore(value, tensors) {
  if (Array.isArray(value)) return value.map((part) => restore(part, tensors));
  if (value === null || typeof value !== "object") return value;
  if ("__array__" in value) return tensors[value.__array__];
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, restore(part, tensors)]));
}
