// A compact model → its description. The data are DEFLATE in base64: a line of JSON, in which {"$": [type, start, shape]}
// stands for an array (a flat one if the shape is a number), and then the arrays: of all numbers the first bytes, then
// the second, ...

const TYPES = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
  f4: Float32Array, f8: Float64Array,
};

async function inflated(data) {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// planes of bytes → a typed array (all machines that run this write the least byte first)
function together(bytes, start, type, count) {
  const size = TYPES[type].BYTES_PER_ELEMENT;
  const out = new Uint8Array(size * count);
  for (let b = 0; b < size; b++) for (let i = 0; i < count; i++) out[i * size + b] = bytes[start + b * count + i];
  return new TYPES[type](out.buffer);
}

function nested(flat, shape) {
  if (shape.length < 2) return Array.from(flat);
  const size = shape.slice(1).reduce((a, b) => a * b, 1);
  return Array.from({ length: shape[0] }, (_, i) => nested(flat.subarray(i * size, (i + 1) * size), shape.slice(1)));
}

// The description that scorer takes; what is one already stays as it is.
export async function unpack(compact) {
  if (compact.format !== "tallybayes.compact") return compact;
  if (compact.version !== 1) throw new TypeError("a compact model of version " + compact.version + ": export it again");
  const bytes = await inflated(compact.data);
  const end = bytes.indexOf(10);
  return JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)), (_, value) => {
    if (value === null || typeof value !== "object" || !Array.isArray(value.$)) return value;
    const [type, start, shape] = value.$;
    if (typeof shape === "number") return together(bytes, end + 1 + start, type, shape);
    return nested(together(bytes, end + 1 + start, type, shape.reduce((a, b) => a * b, 1)), shape);
  });
}
