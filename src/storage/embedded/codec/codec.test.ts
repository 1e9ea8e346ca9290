import { expect, test } from "vitest";
import { decodeColumn } from "./decode.ts";
import { codecBits, encodedBound, encodeColumn } from "./encode.ts";
import { readVarint, unzigzag, writeVarint, zigzag } from "./varint.ts";

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Ranges to decode: the beginning, the end, the middle, single values and nothing. */
const partsOf = (n: number): [from: number, to: number][] =>
  [
    [0, 0],
    [0, 1],
    [0, n >> 1],
    [1, n],
    [2, n],
    [n >> 2, n - (n >> 2)],
    [n - 1, n],
  ].filter((part): part is [number, number] => (part[0] ?? 0) <= (part[1] ?? 0));

/** Encodes, decodes completely and in parts, and compares every bit; returns the encoded bytes. */
function roundTrip(words: Uint32Array, thorough: boolean): Uint8Array {
  const values = new Float64Array(words.buffer);
  const n = values.length;
  const out = new Uint8Array(encodedBound(n) + 3);
  const end = encodeColumn(values, words, 0, n, out, 3, thorough);
  expect(end).toBeLessThanOrEqual(out.length);
  const back = new Float64Array(n + 2);
  const backWords = new Uint32Array(back.buffer);
  expect(decodeColumn(out, 3, n, back, backWords, 1)).toBe(end);
  expect(Buffer.from(back.buffer, 8, n * 8).equals(Buffer.from(words.buffer))).toBe(true);
  for (const [from, to] of partsOf(n)) {
    const part = new Float64Array(to - from + 2).fill(99);
    expect(decodeColumn(out, 3, n, part, new Uint32Array(part.buffer), 1, from, to)).toBe(end);
    const wanted = Buffer.from(words.buffer, from * 8, (to - from) * 8);
    expect(Buffer.from(part.buffer, 8, (to - from) * 8).equals(wanted)).toBe(true);
    expect([part[0], part.at(-1)]).toEqual([99, 99]);
  }
  return out.subarray(3, end);
}

const bitsOf = (values: readonly number[]): Uint32Array =>
  new Uint32Array(Float64Array.from(values).buffer);

test.each<[string, readonly number[], number]>([
  ["one value", [7], 9],
  ["one value over and over", Array.from({ length: 500 }, () => 83.261), 9],
  ["a large one over and over", Array.from({ length: 500 }, () => Math.PI * 1e300), 9],
  ["zeros and one of the other sign", [0, 0, 0, 0, 0, 0, 0, -0, 0], 20],
  ["a regular counter", Array.from({ length: 500 }, (_, i) => 1e12 + i * 5000), 16],
  ["small decimals", Array.from({ length: 100 }, (_, i) => (i % 7) / 100), 110],
  ["large steps of one unit", Array.from({ length: 100 }, (_, i) => (i % 3) * 15e6), 112],
  ["infinities and zeros of both signs", [1, Infinity, 2, -0, 3, 4, 5, 6, 7, 0, -Infinity, 8], 97],
  ["numbers at the edge of what is whole", [2 ** 53, -(2 ** 53), 1, 2 ** 50, 0.5], 90],
  ["tiny ones", [5e-324, 1e-300, 0], 40],
])("%s comes back exactly and small", (_name, values, most) => {
  for (const thorough of [false, true])
    expect(roundTrip(bitsOf(values), thorough).length).toBeLessThanOrEqual(most);
});

test("the payloads of NaNs, signalling ones too, come back bit by bit", () => {
  const words = new Uint32Array(64 * 2);
  new Float64Array(words.buffer).fill(42.5);
  const payloads = [
    [2, 0x7ff00000],
    [1, 0x7ff80000],
    [0xdeadbeef, 0xfff7ffff],
    [0, 0xfff80000],
  ];
  payloads.forEach(([low = 0, high = 0], i) => {
    words[i * 14] = low;
    words[i * 14 + 1] = high;
  });
  roundTrip(words, true);
  roundTrip(words, false);
  const only = new Uint32Array([2, 0x7ff00000]);
  roundTrip(only, true);
});

test("random columns of every kind come back exactly", () => {
  const next = random(7);
  const kinds: (() => number)[] = [
    () => Math.round(next() * 100),
    () => Math.round(next() * 1e6) / 1000,
    () => next(),
    () => (next() - 0.5) * 2 ** (next() * 2000 - 1000),
    () => Math.round((next() - 0.5) * 2 ** 54),
    () => Math.round(next() * 50) * 1048576,
    () => -Math.round(next() * 9) / 1e9,
  ];
  for (let round = 0; round < 600; round++) {
    const n = 1 + Math.floor(next() * 70);
    const kind = kinds[round % kinds.length] as () => number;
    const words = bitsOf(Array.from({ length: n }, kind));
    for (let i = 0; i < n; i++)
      if (next() < 0.05) {
        words[i * 2] = next() * 2 ** 32;
        words[i * 2 + 1] = next() * 2 ** 32;
      }
    roundTrip(words, round % 2 === 0);
  }
});

test("full-mantissa floats fall back to their bits", () => {
  const column = roundTrip(bitsOf(Array.from({ length: 40 }, (_, i) => Math.sin(i))), true);
  expect(column[0]).toBe(codecBits);
});

test("damaged columns end in an error or in numbers, never in a hang", () => {
  const next = random(3);
  const column = roundTrip(bitsOf(Array.from({ length: 50 }, (_, i) => i * i)), true);
  for (let round = 0; round < 2000; round++) {
    const broken = column.slice(0, 1 + Math.floor(next() * column.length));
    broken[Math.floor(next() * broken.length)] = next() * 256;
    const values = new Float64Array(50);
    try {
      decodeColumn(broken, 0, 50, values, new Uint32Array(values.buffer), 0);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(RangeError);
    }
  }
});

test("whole numbers of every size survive as varints", () => {
  for (const value of [
    0,
    1,
    127,
    128,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    2 ** 53 - 1,
    -1,
    -(2 ** 52),
  ]) {
    const bytes = new Uint8Array(9);
    const end = writeVarint(bytes, 0, zigzag(value));
    const cursor = { at: 0 };
    expect(unzigzag(readVarint(bytes, cursor))).toBe(value);
    expect(cursor.at).toBe(end);
  }
});
