/** Decodes the format in encode.ts. Every bit is restored; damaged input throws a RangeError and never loops. */
import {
  codecBits,
  codecConstant,
  codecDelta2,
  codecOffset,
  exceptionsFlag,
  powersOfTen,
} from "./encode.ts";
import { type ByteCursor, readVarint, unzigzag } from "./varint.ts";

const cursor: ByteCursor = { at: 0 };

/**
 * Decodes the values with index `from` (inclusive) to `end` (exclusive) of a column of n into `values` from `to` on.
 * `words` is the same memory as `values`. Returns the end of the column. `asWholes`: the whole numbers of codecs 1 to 3,
 * not yet divided by the power of ten.
 */
export function decodeColumn(
  bytes: Uint8Array,
  at: number,
  n: number,
  values: Float64Array,
  words: Uint32Array,
  to: number,
  from = 0,
  end = n,
  asWholes = false,
): number {
  const head = bytes[at];
  if (head === undefined) throw new RangeError("a column begins past the end");
  const codec = head & ~exceptionsFlag;
  cursor.at = at + 1;
  let [odd, oddAt] = [0, 0];
  if (head >= exceptionsFlag) {
    odd = readVarint(bytes, cursor);
    oddAt = cursor.at;
    for (let i = 0; i < odd; i++) {
      readVarint(bytes, cursor);
      cursor.at += 8;
    }
  }
  if (codec === codecConstant) constant(bytes, end - from, words, to);
  else if (codec === codecBits) planesOfBits(bytes, n, words, to, from, end);
  else if (codec <= codecDelta2) wholes(codec, bytes, n, values, to, from, end, asWholes);
  else throw new RangeError(`column codec ${codec} is not known`);
  const columnEnd = cursor.at;
  if (columnEnd > bytes.length) throw new RangeError("a column runs past the end");
  if (odd > 0) exceptions(bytes, odd, oddAt, n, words, to, from, end);
  return columnEnd;
}

function word(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}

function constant(bytes: Uint8Array, n: number, words: Uint32Array, to: number): void {
  const [low, high] = [word(bytes, cursor.at), word(bytes, cursor.at + 4)];
  cursor.at += 8;
  for (let i = to * 2; i < (to + n) * 2; i += 2) {
    words[i] = low;
    words[i + 1] = high;
  }
}

function planesOfBits(
  bytes: Uint8Array,
  n: number,
  words: Uint32Array,
  to: number,
  from: number,
  end: number,
): void {
  const at = cursor.at;
  let [low, high] = [0, 0];
  for (let i = 0; i < end; i++) {
    const p = at + i;
    low ^=
      (bytes[p] as number) |
      ((bytes[p + n] as number) << 8) |
      ((bytes[p + 2 * n] as number) << 16) |
      ((bytes[p + 3 * n] as number) << 24);
    high ^=
      (bytes[p + 4 * n] as number) |
      ((bytes[p + 5 * n] as number) << 8) |
      ((bytes[p + 6 * n] as number) << 16) |
      ((bytes[p + 7 * n] as number) << 24);
    if (i < from) continue;
    words[(to + i - from) * 2] = low;
    words[(to + i - from) * 2 + 1] = high;
  }
  cursor.at = at + 8 * n;
}

function wholes(
  codec: number,
  bytes: Uint8Array,
  n: number,
  values: Float64Array,
  to: number,
  from: number,
  end: number,
  asWholes: boolean,
): void {
  const exponent = bytes[cursor.at++] as number;
  const power = asWholes ? 1 : powersOfTen[exponent];
  const width = bytes[cursor.at++] as number;
  if (power === undefined || width > 7) throw new RangeError("a column's header is damaged");
  const unit = readVarint(bytes, cursor);
  const first = unzigzag(readVarint(bytes, cursor));
  const slope = codec === codecDelta2 ? unzigzag(readVarint(bytes, cursor)) * unit : 0;
  const least = unzigzag(readVarint(bytes, cursor));
  const lead = codec - codecOffset;
  const m = n - lead;
  const at = cursor.at;
  if (m < 0 || at + m * width > bytes.length) throw new RangeError("a column runs past the end");
  cursor.at = at + m * width;
  // From here on, value i is at index `shift + i`.
  const shift = to - from;
  if (codec === codecOffset) {
    const base = first + least * unit;
    if (width === 1)
      for (let i = from; i < end; i++)
        values[shift + i] = (base + (bytes[at + i] as number) * unit) / power;
    else
      for (let i = from; i < end; i++)
        values[shift + i] = (base + plane(bytes, at + i, m, width) * unit) / power;
    return;
  }
  if (from === 0 && end > 0) values[to] = first / power;
  if (codec === codecDelta2) {
    let [step, sum] = [slope, first + slope];
    if (from <= 1 && end > 1) values[shift + 1] = sum / power;
    for (let i = 2; i < end; i++) {
      step += (least + plane(bytes, at + i - 2, m, width)) * unit;
      sum += step;
      if (i >= from) values[shift + i] = sum / power;
    }
    return;
  }
  deltas(bytes, at - 1, m, width, least * unit, unit, first, power, values, shift, from, end);
}

/** Separate loops for the widths of nearly all columns, and for skipped values. `at` is the position of value 0. */
function deltas(
  bytes: Uint8Array,
  at: number,
  m: number,
  width: number,
  floor: number,
  unit: number,
  first: number,
  power: number,
  values: Float64Array,
  shift: number,
  from: number,
  end: number,
): void {
  let sum = first;
  let i = 1;
  if (width === 1) {
    for (; i < from; i++) sum += floor + (bytes[at + i] as number) * unit;
    for (; i < end; i++) {
      sum += floor + (bytes[at + i] as number) * unit;
      values[shift + i] = sum / power;
    }
    return;
  }
  if (width === 2) {
    const high = at + m;
    for (; i < from; i++)
      sum += floor + ((bytes[at + i] as number) | ((bytes[high + i] as number) << 8)) * unit;
    for (; i < end; i++) {
      sum += floor + ((bytes[at + i] as number) | ((bytes[high + i] as number) << 8)) * unit;
      values[shift + i] = sum / power;
    }
    return;
  }
  for (; i < from; i++) sum += floor + plane(bytes, at + i, m, width) * unit;
  for (; i < end; i++) {
    sum += floor + plane(bytes, at + i, m, width) * unit;
    values[shift + i] = sum / power;
  }
}

function plane(bytes: Uint8Array, at: number, m: number, width: number): number {
  if (width === 1) return bytes[at] as number;
  if (width === 2) return (bytes[at] as number) | ((bytes[at + m] as number) << 8);
  let value = 0;
  for (let place = at + (width - 1) * m; place >= at; place -= m)
    value = value * 256 + (bytes[place] as number);
  return value;
}

function exceptions(
  bytes: Uint8Array,
  odd: number,
  at: number,
  n: number,
  words: Uint32Array,
  to: number,
  from: number,
  end: number,
): void {
  cursor.at = at;
  for (let i = 0; i < odd; i++) {
    const index = readVarint(bytes, cursor);
    if (index >= n) throw new RangeError("an exception lies outside its column");
    if (index >= from && index < end) {
      const place = (to + index - from) * 2;
      words[place] = word(bytes, cursor.at);
      words[place + 1] = word(bytes, cursor.at + 4);
    }
    cursor.at += 8;
  }
}
