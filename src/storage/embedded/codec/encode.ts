/**
 * Compresses one column of values losslessly, including NaN payloads and the sign of zero. Telemetry is
 * mostly small decimals, so values become integers, then their differences, then separate byte planes.
 *
 * Column, n values (n is stored elsewhere):
 *   u8      codec: 0 constant, 1 offset, 2 delta, 3 delta of delta, 4 bits; + 0x80 if exceptions follow
 *   [varint count, then count x (varint index, 8 raw bytes)]      the exceptions: NaN, infinities, -0
 *   0:      8 bytes, the value
 *   1-3:    u8 decimal exponent e, u8 width w (0 to 7), varint unit, zigzag-varint first whole number,
 *           [3: zigzag-varint first difference,] zigzag-varint least, then w planes of m bytes, lowest byte first:
 *           1: m = n, whole[i] = first + (least + x[i]) * unit
 *           2: m = n - 1, whole[i] = whole[i-1] + (least + x) * unit
 *           3: m = n - 2, difference[i] = difference[i-1] + (least + x) * unit
 *           value = whole / 10^e. The slot of an exception holds the previous value.
 *   4:      8 planes of n bytes: the value's bytes XOR those of the previous value (0 before the first)
 */
import { writeVarint, zigzag } from "./varint.ts";

export const codecConstant = 0;
export const codecOffset = 1;
const codecDelta = 2;
export const codecDelta2 = 3;
export const codecBits = 4;
/** A column with native histograms; histogram-encode.ts describes its format. */
export const codecHistograms = 5;
export const exceptionsFlag = 0x80;

/** True if a column that begins with this byte may hold a NaN; the word of a histogram is one. */
export const mayHoldNaN = (head: number): boolean => head >= codecBits;

export const powersOfTen = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9] as const;
/** Above this, v * 10^e may be rounded; larger values are stored as bits. */
export const largestWhole = 2 ** 50;
/** In place of a decimal exponent: the values are not whole numbers divided by a power of ten. */
export const notWhole = -1;

let whole = new Float64Array(1024);
let work = new Float64Array(1024);
let plain = new Float64Array(1024);

function reserve(n: number): void {
  if (whole.length >= n) return;
  const size = 2 ** Math.ceil(Math.log2(n));
  whole = new Float64Array(size);
  work = new Float64Array(size);
  plain = new Float64Array(size);
}

/** The maximum encoded size of a column of n values. */
export const encodedBound = (n: number): number => 64 + n * 24;

/**
 * Writes n values, which begin at `from`, to `out`, and returns the end. `bits` is the same memory as `values`, as
 * 32-bit words. `thorough` compares the codecs by their estimated size after compression; otherwise the narrowest wins.
 */
export function encodeColumn(
  values: Float64Array,
  bits: Uint32Array,
  from: number,
  n: number,
  out: Uint8Array,
  at: number,
  thorough: boolean,
): number {
  if (isConstant(values, from, n)) {
    out[at] = codecConstant;
    return writeValue(values[from] as number, out, at + 1);
  }
  reserve(n);
  const odd = takeOrdinary(values, from, n);
  const found = odd * 8 > n + 8 ? notWhole : toWhole(n);
  if (found === notWhole) return encodeBits(bits, from, n, out, at);
  let end = at + 1;
  if (odd > 0) end = writeExceptions(values, bits, from, n, odd, out, end);
  const codec = writeWhole(n, found, out, end, thorough);
  out[at] = odd > 0 ? codec | exceptionsFlag : codec;
  return lastEnd;
}

/**
 * As `encodeColumn`, for the first n of whole numbers of at most `largestWhole`, without -0, that are to be divided by
 * 10^exponent.
 */
export function encodeWholes(
  wholes: Float64Array,
  exponent: number,
  n: number,
  out: Uint8Array,
  at: number,
  thorough: boolean,
): number {
  const first = wholes[0] as number;
  let same = 1;
  while (same < n && wholes[same] === first) same++;
  if (same >= n) {
    out[at] = codecConstant;
    return writeValue(first / (powersOfTen[exponent] as number), out, at + 1);
  }
  reserve(n);
  for (let i = 0; i < n; i++) whole[i] = wholes[i] as number;
  out[at] = writeWhole(n, exponent, out, at + 1, thorough);
  return lastEnd;
}

let lastEnd = 0;
const oneValue = new Float64Array(1);
const oneBytes = new Uint8Array(oneValue.buffer);

function writeValue(value: number, out: Uint8Array, at: number): number {
  oneValue[0] = value;
  for (let byte = 0; byte < 8; byte++) out[at + byte] = oneBytes[byte] as number;
  return at + 8;
}

/** True if all values are one ordinary number, as in mostly two of a rollup's seven columns. */
function isConstant(values: Float64Array, from: number, n: number): boolean {
  const first = values[from] as number;
  if (n === 0 || !isOrdinary(first)) return false;
  // -0 equals 0 but is an exception.
  for (let i = from + 1; i < from + n; i++)
    if (values[i] !== first || (first === 0 && !isOrdinary(values[i] as number))) return false;
  return true;
}

/**
 * Copies the values and replaces each that arithmetic would change by the previous one; returns the number of
 * replacements.
 */
function takeOrdinary(values: Float64Array, from: number, n: number): number {
  let odd = 0;
  let before = 0;
  for (let i = 0; i < n; i++) {
    const value = values[from + i] as number;
    if (isOrdinary(value)) before = value;
    else odd++;
    plain[i] = before;
  }
  return odd;
}

export const isOrdinary = (value: number): boolean =>
  value - value === 0 && (value !== 0 || 1 / value > 0);

/** Finds the smallest power of ten that makes all values integers; `notWhole` if there is none. */
function toWhole(n: number): number {
  let exponent = 0;
  let power = 1;
  // Values before this index were scaled by a smaller power.
  let scaledFrom = 0;
  for (let i = 0; i < n; i++) {
    const value = plain[i] as number;
    let scaled = Math.round(value * power);
    while (scaled / power !== value) {
      exponent++;
      if (exponent >= powersOfTen.length) return notWhole;
      power = powersOfTen[exponent] as number;
      scaled = Math.round(value * power);
      scaledFrom = i;
    }
    if (scaled > largestWhole || scaled < -largestWhole) return notWhole;
    whole[i] = scaled;
  }
  for (let i = 0; i < scaledFrom; i++) {
    const value = plain[i] as number;
    const scaled = Math.round(value * power);
    if (scaled / power !== value || scaled > largestWhole || scaled < -largestWhole)
      return notWhole;
    whole[i] = scaled;
  }
  return exponent;
}

function commonUnit(n: number): number {
  const first = whole[0] as number;
  let unit = 0;
  for (let i = 1; i < n; i++) {
    let a = Math.abs((whole[i] as number) - first);
    let b = unit;
    // A division is several times as fast as `%`, and exact for numbers of this size.
    if (b !== 0 && Math.floor(a / b) === a / b) continue;
    while (b !== 0) {
      const rest = a % b;
      a = b;
      b = rest;
    }
    unit = a;
    if (unit === 1) return 1;
  }
  return unit;
}

function writeWhole(
  n: number,
  exponent: number,
  out: Uint8Array,
  at: number,
  thorough: boolean,
): number {
  const first = whole[0] as number;
  const unit = commonUnit(n);
  if (unit === 0) {
    lastEnd = writeValue(plain[0] as number, out, at);
    return codecConstant;
  }
  findRanges(n, unit);
  let best = codecOffset;
  let bestCost = Infinity;
  for (let codec = codecOffset; codec <= Math.min(codecDelta2, n); codec++) {
    const width = widths[codec] as number;
    let cost = width * (n - codec + 1);
    if (thorough) {
      const m = differences(codec, n, first, unit);
      cost = byteEntropyBits(work, m, leasts[codec] as number, width);
    }
    if (cost < bestCost) {
      best = codec;
      bestCost = cost;
    }
  }
  const m = differences(best, n, first, unit);
  const least = leasts[best] as number;
  const width = widths[best] as number;
  let end = at;
  out[end++] = exponent;
  out[end++] = width;
  end = writeVarint(out, end, unit);
  end = writeVarint(out, end, zigzag(first));
  if (best === codecDelta2)
    end = writeVarint(out, end, zigzag(((whole[1] as number) - first) / unit));
  end = writeVarint(out, end, zigzag(least));
  lastEnd = writePlanes(m, least, width, out, end);
  return best;
}

function differences(codec: number, n: number, first: number, unit: number): number {
  if (codec === codecOffset) {
    for (let i = 0; i < n; i++) work[i] = ((whole[i] as number) - first) / unit;
    return n;
  }
  for (let i = 1; i < n; i++)
    work[i - 1] = ((whole[i] as number) - (whole[i - 1] as number)) / unit;
  if (codec === codecDelta) return n - 1;
  for (let i = 1; i < n - 1; i++) work[i - 1] = (work[i] as number) - (work[i - 1] as number);
  return n - 2;
}

/** Per codec: the least difference, and the width in bytes of the largest difference above it. */
const leasts = new Float64Array(codecDelta2 + 1);
const widths = new Uint8Array(codecDelta2 + 1);

/** Computes both for every codec in one pass. The unit is divided out later, because it does not change the order. */
function findRanges(n: number, unit: number): void {
  const first = whole[0] as number;
  let before = first;
  let [least, most] = [first, first];
  let [leastDelta, mostDelta, leastDelta2, mostDelta2] = [Infinity, -Infinity, Infinity, -Infinity];
  let deltaBefore = Number.NaN;
  for (let i = 1; i < n; i++) {
    const value = whole[i] as number;
    if (value < least) least = value;
    else if (value > most) most = value;
    const delta = value - before;
    if (delta < leastDelta) leastDelta = delta;
    if (delta > mostDelta) mostDelta = delta;
    // The first difference has no predecessor: both comparisons with NaN are false.
    const delta2 = delta - deltaBefore;
    if (delta2 < leastDelta2) leastDelta2 = delta2;
    if (delta2 > mostDelta2) mostDelta2 = delta2;
    deltaBefore = delta;
    before = value;
  }
  putRange(codecOffset, least - first, most - first, unit);
  putRange(codecDelta, leastDelta, mostDelta, unit);
  putRange(codecDelta2, leastDelta2, mostDelta2, unit);
}

function putRange(codec: number, least: number, most: number, unit: number): void {
  let width = 0;
  for (let span = (most - least) / unit; span >= 1; span = Math.floor(span / 256)) width++;
  leasts[codec] = least <= most ? least / unit : 0;
  widths[codec] = width;
}

function writePlanes(m: number, least: number, width: number, out: Uint8Array, at: number): number {
  if (width <= 4) {
    for (let i = 0; i < m; i++) {
      const value = ((work[i] as number) - least) >>> 0;
      for (let plane = 0, place = at + i; plane < width; plane++, place += m)
        out[place] = value >>> (8 * plane);
    }
  } else {
    for (let i = 0; i < m; i++) {
      let value = (work[i] as number) - least;
      for (let plane = 0, place = at + i; plane < width; plane++, place += m) {
        out[place] = value % 256;
        value = Math.floor(value / 256);
      }
    }
  }
  return at + m * width;
}

function writeExceptions(
  values: Float64Array,
  bits: Uint32Array,
  from: number,
  n: number,
  odd: number,
  out: Uint8Array,
  at: number,
): number {
  let end = writeVarint(out, at, odd);
  for (let i = 0; i < n; i++) {
    if (isOrdinary(values[from + i] as number)) continue;
    end = writeVarint(out, end, i);
    for (let half = 0; half < 2; half++) {
      const word = bits[(from + i) * 2 + half] as number;
      for (let byte = 0; byte < 4; byte++) out[end++] = word >>> (8 * byte);
    }
  }
  return end;
}

function encodeBits(
  bits: Uint32Array,
  from: number,
  n: number,
  out: Uint8Array,
  at: number,
): number {
  out[at] = codecBits;
  let [low, high] = [0, 0];
  for (let i = 0; i < n; i++) {
    const [nextLow, nextHigh] = [
      bits[(from + i) * 2] as number,
      bits[(from + i) * 2 + 1] as number,
    ];
    const [x, y] = [low ^ nextLow, high ^ nextHigh];
    for (let byte = 0; byte < 4; byte++) {
      out[at + 1 + byte * n + i] = x >>> (8 * byte);
      out[at + 1 + (byte + 4) * n + i] = y >>> (8 * byte);
    }
    [low, high] = [nextLow, nextHigh];
  }
  return at + 1 + 8 * n;
}

const counts = new Uint32Array(256);
/** c log2(c) for small counts. */
const countBits = Float64Array.from({ length: 1024 }, (_, c) => (c === 0 ? 0 : c * Math.log2(c)));

/** Estimates the size of a column after entropy coding: the sum of the order-0 entropy of its byte planes. */
function byteEntropyBits(values: Float64Array, n: number, least: number, width: number): number {
  let bits = 0;
  let scale = 1;
  for (let plane = 0; plane < width; plane++) {
    counts.fill(0);
    for (let i = 0; i < n; i++) {
      const shifted = ((values[i] as number) - least) / scale;
      // Up to 2^52: the low byte of the integer part, without 32-bit overflow.
      const byte = (shifted < 4294967296 ? shifted >>> 0 : (shifted % 4294967296) >>> 0) & 0xff;
      counts[byte] = (counts[byte] as number) + 1;
    }
    // The sum of -c log2(c / n) over the counts c.
    let plainBits = n * Math.log2(n);
    let used = 0;
    for (let byte = 0; byte < 256; byte++) {
      const count = counts[byte] as number;
      if (count === 0) continue;
      used++;
      plainBits -=
        count < countBits.length ? (countBits[count] as number) : count * Math.log2(count);
    }
    // Each symbol that occurs costs a few bits in the coder's table.
    bits += plainBits + used * 3;
    scale *= 256;
  }
  return bits;
}
