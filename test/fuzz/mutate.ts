// The fuzz driver: mutates valid inputs in seeded, repeatable ways and checks that a parser survives the result. It never checks
// the value: a parser under fuzz returns a value or throws a GpulseError, nothing else.

import { GpulseError } from "../../src/base/error.ts";

/** Few in the normal run, 200,000 in the full one. */
export const fuzzInputs = Math.max(1, Number(process.env["FUZZ_INPUTS"] ?? 3_000));

/** The full run needs time: one input in a thousand may be slow, none may hang. */
export const fuzzTimeoutMs = 10_000 + fuzzInputs * 3;

/** A parser that takes longer than this on one input counts as hanging. */
const slowestMs = 2_000;

/** mulberry32: small, seeded, and good enough to choose bytes. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Change = (bytes: Buffer, random: () => number, other: Buffer) => Buffer;

const at = (length: number, random: () => number): number => Math.floor(random() * length);

const nasty = [
  0x00, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x2d, 0x3a, 0x5b, 0x7b, 0x7f, 0x80, 0xb0, 0xff,
];

/** Words that break parsers with careless handling of text or numbers. */
const words = [
  "-1",
  "NaN",
  "Infinity",
  "1e999",
  "0x",
  "9".repeat(40),
  "-0",
  "N/A",
  "null",
  "[]",
  "{}",
  "__proto__",
  "constructor",
  "\u0000".repeat(64),
  "\ud800",
  ",".repeat(50),
  "[".repeat(200),
].map((word) => Buffer.from(word));

const changes: readonly Change[] = [
  function flipBits(bytes, random) {
    const copy = Buffer.from(bytes);
    for (let count = 1 + at(8, random); count > 0; count--) {
      const place = at(copy.length, random);
      copy[place] = (copy[place] ?? 0) ^ (1 << at(8, random));
    }
    return copy;
  },
  function setBytes(bytes, random) {
    const copy = Buffer.from(bytes);
    const value = nasty[at(nasty.length, random)] ?? 0;
    const start = at(copy.length, random);
    return copy.fill(value, start, Math.min(copy.length, start + 1 + at(16, random)));
  },
  function cutEnd(bytes, random) {
    return bytes.subarray(0, at(bytes.length + 1, random));
  },
  function cutStart(bytes, random) {
    return bytes.subarray(at(bytes.length + 1, random));
  },
  function dropPart(bytes, random) {
    const start = at(bytes.length, random);
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + 1 + at(64, random))]);
  },
  function repeatPart(bytes, random) {
    const start = at(bytes.length, random);
    const part = bytes.subarray(start, start + 1 + at(256, random));
    const times = 1 + at(20, random);
    return Buffer.concat([
      bytes.subarray(0, start),
      ...Array.from({ length: times }, () => part),
      bytes.subarray(start),
    ]);
  },
  function putWord(bytes, random) {
    const start = at(bytes.length + 1, random);
    const word = words[at(words.length, random)] ?? Buffer.alloc(0);
    return Buffer.concat([bytes.subarray(0, start), word, bytes.subarray(start + at(8, random))]);
  },
  function spliceOther(bytes, random, other) {
    return Buffer.concat([
      bytes.subarray(0, at(bytes.length + 1, random)),
      other.subarray(at(other.length + 1, random)),
    ]);
  },
  function pureNoise(_bytes, random) {
    return Buffer.from(Array.from({ length: at(512, random) }, () => at(256, random)));
  },
];

/** Repeats one part until the input is large: this reveals quadratic time. */
function growLarge(bytes: Buffer, random: () => number): Buffer {
  const start = at(bytes.length, random);
  const part = bytes.subarray(start, start + 1 + at(32, random));
  const times = Math.ceil((1 << 17) / Math.max(1, part.length));
  const filled = Buffer.alloc(times * part.length, part);
  return Buffer.concat([bytes.subarray(0, start), filled, bytes.subarray(start)]);
}

function putOneOf(more: readonly Buffer[], bytes: Buffer, random: () => number): Buffer {
  const start = at(bytes.length + 1, random);
  const word = more[at(more.length, random)] ?? Buffer.alloc(0);
  const over = random() < 0.5 ? word.length : 0;
  return Buffer.concat([bytes.subarray(0, start), word, bytes.subarray(start + over)]);
}

/** `more`: words of the parser's own language; with them, one input in a thousand is also very large. */
export function mutate(
  samples: readonly Buffer[],
  random: () => number,
  more?: readonly Buffer[],
): Buffer {
  const pick = (): Buffer => samples[at(samples.length, random)] ?? Buffer.alloc(0);
  let bytes = pick();
  for (let count = 1 + at(4, random); count > 0; count--) {
    if (more !== undefined && random() < 0.25) bytes = putOneOf(more, bytes, random);
    else bytes = (changes[at(changes.length, random)] as Change)(bytes, random, pick());
  }
  if (more !== undefined && bytes.length > 0 && random() < 0.001) bytes = growLarge(bytes, random);
  // Repeated repeats would grow without end; real readers limit a parser's input anyway.
  return bytes.length > 1 << 18 ? bytes.subarray(0, 1 << 18) : bytes;
}

export interface FuzzOptions {
  readonly seed: number;
  readonly samples: readonly (Buffer | string)[];
  /** Runs the parser under test; may return a promise. */
  readonly parse: (bytes: Buffer) => unknown;
  readonly inputs?: number;
  readonly nowMs?: () => number;
}

/** Resolves if every input gave a result or a GpulseError; otherwise throws, with the input in base64. */
export async function fuzz(options: FuzzOptions): Promise<number> {
  const { seed, parse, inputs = fuzzInputs, nowMs = () => performance.now() } = options;
  const samples = options.samples.map((sample) => Buffer.from(sample));
  const random = seededRandom(seed);
  for (let number = 0; number < inputs; number++) {
    const bytes = mutate(samples, random);
    const startMs = nowMs();
    try {
      await parse(bytes);
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw broken(seed, number, bytes, thrown);
    }
    if (nowMs() - startMs > slowestMs) throw broken(seed, number, bytes, "took too long");
  }
  return inputs;
}

function broken(seed: number, number: number, bytes: Buffer, cause: unknown): Error {
  const shown = bytes.subarray(0, 6_000).toString("base64");
  const says = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  return new Error(`input ${number} of seed ${seed}: ${says}\ninput in base64: ${shown}`, {
    cause,
  });
}
