/**
 * Parses values as Prometheus does: Go's ParseFloat, decimal only (no hexadecimal, `p` or `_`), `Inf` and `NaN` in any case; a
 * number too large for 64 bits is refused. Most values are short decimals, which are parsed without allocating a string.
 */

const tens = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/** The number between `start` and `end`, or undefined if there is none. */
export function readFloat(bytes: Buffer, start: number, end: number): number | undefined {
  let at = start;
  const isNegative = bytes[at] === 45;
  if (isNegative) at++;
  // At most 15 digits over a power of ten up to 10^15: both are exact, so their quotient is the nearest double.
  if (end - at > 16 || at === end) return readLongFloat(bytes, start, end);
  let digits = 0;
  let count = 0;
  let pointAt = -1;
  for (; at < end; at++) {
    const digit = (bytes[at] as number) - 48;
    if (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      count++;
    } else if (digit === -2 && pointAt === -1) pointAt = at;
    else return readLongFloat(bytes, start, end);
  }
  if (count === 0 || count > 15) return readLongFloat(bytes, start, end);
  const value = pointAt === -1 ? digits : digits / (tens[end - pointAt - 1] as number);
  return isNegative ? -value : value;
}

/**
 * Parses the number from `start` to the end of its line into `values[index]`, and returns that end; -1 if there is no number or
 * the line does not end. Returning the number itself would allocate it.
 */
export function putFloatLine(
  bytes: Buffer,
  start: number,
  values: Float64Array,
  index: number,
): number {
  const isNegative = bytes[start] === 45;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let digits = 0;
  let pointAt = -1;
  for (; ; at++) {
    const digit = (bytes[at] ?? 10) - 48;
    if (digit >= 0 && digit <= 9) digits = digits * 10 + digit;
    else if (digit === -2 && pointAt === -1) pointAt = at;
    else break;
  }
  const count = at - first - (pointAt === -1 ? 0 : 1);
  if (bytes[at] === 10 && count > 0 && count <= 15) {
    const value = pointAt === -1 ? digits : digits / (tens[at - pointAt - 1] as number);
    values[index] = isNegative ? -value : value;
    return at;
  }
  const end = bytes.indexOf(10, at);
  const value = end === -1 ? undefined : readFloat(bytes, start, end);
  if (value === undefined) return -1;
  values[index] = value;
  return end;
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const infinite = /^([+-]?)inf(?:inity)?$/i;

function readLongFloat(bytes: Buffer, start: number, end: number): number | undefined {
  // No real number is longer; parsing longer text would only cost time.
  if (end - start > 1_000) return undefined;
  const text = bytes.toString("latin1", start, end);
  if (decimal.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  if (/^nan$/i.test(text)) return Number.NaN;
  const sign = infinite.exec(text)?.[1];
  return sign === undefined ? undefined : sign === "-" ? -Infinity : Infinity;
}
