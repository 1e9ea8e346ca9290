/** What an entropy coder would need for a column: the sum over its byte planes of their order-0 entropy. An estimate only. */

const counts = new Uint32Array(256);

export function byteEntropyBits(
  values: Float64Array,
  n: number,
  least: number,
  width: number,
): number {
  let bits = 0;
  let scale = 1;
  for (let plane = 0; plane < width; plane++) {
    counts.fill(0);
    for (let i = 0; i < n; i++) {
      const shifted = ((values[i] as number) - least) / scale;
      // Up to 2^52: the low byte of the whole part, without 32-bit overflow.
      const byte = (shifted < 4294967296 ? shifted >>> 0 : (shifted % 4294967296) >>> 0) & 0xff;
      counts[byte] = (counts[byte] as number) + 1;
    }
    let plainBits = 0;
    let used = 0;
    for (let byte = 0; byte < 256; byte++) {
      const count = counts[byte] as number;
      if (count === 0) continue;
      used++;
      plainBits -= count * Math.log2(count / n);
    }
    // Each symbol that occurs costs a few bits in the coder's table.
    bits += plainBits + used * 3;
    scale *= 256;
  }
  return bits;
}
