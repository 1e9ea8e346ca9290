/**
 * Reads the consecutive pieces of a series as the whole numbers that they are stored as. Sums of them are exact, and they
 * are encoded again without a search for their power of ten.
 */
import { decodeColumn } from "./codec/decode.ts";
import {
  codecConstant,
  codecDelta2,
  isOrdinary,
  largestWhole,
  notWhole,
  powersOfTen,
} from "./codec/encode.ts";
import type { SeriesPieces } from "./column-source.ts";
import type { ColumnBuffer } from "./merge.ts";

/**
 * Replaces the values of `out` by the whole numbers of the pieces, and returns the exponent of the power of ten that
 * divides them; `notWhole` if a piece has other values, and `out` is then to be filled in another way. Values before index
 * `first` and from `end` on may be left as they were.
 */
export function concatWholes(
  pieces: SeriesPieces,
  out: ColumnBuffer,
  first = 0,
  end = Infinity,
): number {
  const exponent = commonExponent(pieces);
  if (exponent === notWhole) return notWhole;
  if (out.values.length < pieces.samples) out.reserve(pieces.samples);
  out.n = 0;
  out.odd = false;
  if (out.histograms.length > 0) out.histograms = [];
  for (let i = 0; i < pieces.length; i++) {
    const begin = out.n;
    const count = pieces.counts[i] as number;
    out.n += count;
    const from = Math.max(0, first - begin);
    const to = Math.min(count, end - begin);
    if (from < to && !readPart(pieces, i, exponent, out, begin, from, to)) return notWhole;
  }
  return exponent;
}

/** Reads the values `from` to `to` of a piece that begins at `begin`; returns false if they are too large for the exponent. */
function readPart(
  pieces: SeriesPieces,
  i: number,
  exponent: number,
  out: ColumnBuffer,
  begin: number,
  from: number,
  to: number,
): boolean {
  const address = pieces.addresses[i] as number;
  const source = pieces.sources[i];
  const bytes = source?.bytesOf(address);
  if (bytes === undefined || source === undefined) return false;
  const at = source.offsetOf(address);
  const { values, words } = out;
  const [start, stop] = [begin + from, begin + to];
  if (bytes[at] === codecConstant) {
    const scaled = Math.round(constantAt(bytes, at) * (powersOfTen[exponent] as number));
    values.fill(scaled, start, stop);
    return Math.abs(scaled) <= largestWhole;
  }
  const count = pieces.counts[i] as number;
  decodeColumn(bytes, at, count, values, words, start, from, to, true);
  const missing = exponent - (bytes[at + 1] as number);
  if (missing === 0) return true;
  const power = powersOfTen[missing] as number;
  for (let k = start; k < stop; k++) {
    const scaled = (values[k] as number) * power;
    if (scaled > largestWhole || scaled < -largestWhole) return false;
    values[k] = scaled;
  }
  return true;
}

/** The largest exponent of the pieces; `notWhole` if one is not stored as whole numbers, or still appended to. */
function commonExponent(pieces: SeriesPieces): number {
  let exponent = 0;
  for (let i = 0; i < pieces.length; i++) {
    const address = pieces.addresses[i] as number;
    const source = pieces.sources[i];
    const bytes = source?.bytesOf(address);
    if (bytes === undefined || source === undefined) return notWhole;
    const at = source.offsetOf(address);
    const codec = bytes[at] as number;
    if (!(codec <= codecDelta2)) return notWhole;
    const own = codec === codecConstant ? exponentOf(constantAt(bytes, at)) : bytes[at + 1];
    if (own === undefined || own === notWhole || own >= powersOfTen.length) return notWhole;
    if (own > exponent) exponent = own;
  }
  return exponent;
}

const oneValue = new Float64Array(1);
const oneWords = new Uint32Array(oneValue.buffer);

function constantAt(bytes: Uint8Array, at: number): number {
  decodeColumn(bytes, at, 1, oneValue, oneWords, 0);
  return oneValue[0] as number;
}

/** The smallest exponent of a power of ten that makes the value whole. */
function exponentOf(value: number): number {
  if (!isOrdinary(value)) return notWhole;
  for (const [exponent, power] of powersOfTen.entries()) {
    const scaled = Math.round(value * power);
    if (Math.abs(scaled) > largestWhole) return notWhole;
    if (scaled / power === value) return exponent;
  }
  return notWhole;
}
