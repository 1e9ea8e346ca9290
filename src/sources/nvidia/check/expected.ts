/** Computes the expected results of the kernels in ptx/ independently, in integer arithmetic on the host. Pure. */
import { patternMix } from "./ptx/base.ts";
import { mixing } from "./ptx/kernel.ts";

const digestStep = (digest: number, word: number): number =>
  Math.imul(digest ^ word, mixing.digestPrime);

/** The upper half of the product of two u32, computed in 16-bit halves because a double holds 53 bits. */
function multiplyHigh(a: number, b: number): number {
  const [aHigh, aLow, bHigh, bLow] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff];
  const middle = aHigh * bLow + Math.floor((aLow * bLow) / 0x1_0000);
  const carry = Math.floor((aLow * bHigh + (middle % 0x1_0000)) / 0x1_0000);
  return (aHigh * bHigh + Math.floor(middle / 0x1_0000) + carry) >>> 0;
}

const startOf = (thread: number, seed: number): number =>
  (Math.imul(thread + 1, mixing.golden) + seed) >>> 0;

const nextState = (state: number): number =>
  (Math.imul(state, mixing.multiplier) + mixing.increment) >>> 0;

/** The expected digest of each thread of a block of `integer_products`. */
export function integerDigests(seed: number, threads: number, iterations: number): Uint32Array {
  return Uint32Array.from({ length: threads }, (_, thread) => {
    let x = startOf(thread, seed);
    let digest: number = mixing.digestBasis;
    for (let iteration = 0; iteration < iterations; iteration++) {
      x = nextState(x);
      digest = digestStep(digest, x);
      digest = digestStep(digest, multiplyHigh(x, mixing.highMultiplier));
    }
    return digest;
  });
}

/** 1.5 × 2²², where one unit in the last place is a half: the bits of a whole number n in this range are base + 2 × (n − 2²²). */
const sumStart = 6_291_456;
const bitsOfSum = (sum: number): number => 0x4a80_0000 + (sum - 4_194_304) * 2;

/**
 * The expected digest of each thread of a block of `tensor_products`: m16n8k16, with A by rows, B by columns. Lane l holds, with
 * g = l / 4 and t = l % 4: of A rows g and g + 8, columns 2t, 2t + 1 and 8 more; of B rows 2t, 2t + 1 and 8 more, column g; of C
 * rows g and g + 8, columns 2t and 2t + 1.
 */
export function tensorDigests(seed: number, threads: number, iterations: number): Uint32Array {
  const digests = new Uint32Array(threads);
  for (let warp = 0; warp < threads / 32; warp++) {
    const states = Array.from({ length: 32 }, (_, lane) => startOf(warp * 32 + lane, seed));
    const [a, b] = [new Int32Array(16 * 16), new Int32Array(16 * 8)];
    const c = new Int32Array(16 * 8).fill(sumStart);
    const warpDigests = digests.subarray(warp * 32, warp * 32 + 32).fill(mixing.digestBasis);
    for (let iteration = 0; iteration < iterations; iteration++) {
      states.forEach((state, lane) => (states[lane] = fillFragments(state, lane, a, b)));
      multiplyInto(c, a, b);
      for (let lane = 0; lane < 32; lane++) {
        const [group, pair] = [lane >> 2, lane & 3];
        let digest = warpDigests[lane] ?? 0;
        for (const row of [group, group + 8])
          for (const column of [2 * pair, 2 * pair + 1])
            digest = digestStep(digest, bitsOfSum(c[row * 8 + column] ?? 0));
        warpDigests[lane] = digest;
      }
    }
  }
  return digests;
}

/** Writes a lane's two numbers of each of its six registers; returns its next state. */
function fillFragments(given: number, lane: number, a: Int32Array, b: Int32Array): number {
  const [group, pair] = [lane >> 2, lane & 3];
  let state = given;
  const nextPair = (): readonly [number, number] => {
    state = nextState(state);
    return [((state >>> 8) & 15) - 8, ((state >>> 20) & 15) - 8];
  };
  for (let register = 0; register < 4; register++) {
    const row = group + 8 * (register & 1);
    a.set(nextPair(), row * 16 + 2 * pair + 8 * (register >> 1));
  }
  for (let register = 0; register < 2; register++) {
    const row = 2 * pair + 8 * register;
    const [low, high] = nextPair();
    b[row * 8 + group] = low;
    b[(row + 1) * 8 + group] = high;
  }
  return state;
}

function multiplyInto(c: Int32Array, a: Int32Array, b: Int32Array): void {
  for (let row = 0; row < 16; row++)
    for (let column = 0; column < 8; column++) {
      let sum = c[row * 8 + column] ?? 0;
      for (let k = 0; k < 16; k++) sum += (a[row * 16 + k] ?? 0) * (b[k * 8 + column] ?? 0);
      c[row * 8 + column] = sum;
    }
}

export interface MemoryPattern {
  readonly name: string;
  readonly mask: bigint;
  readonly constant: bigint;
}

const ones = 0xffff_ffff_ffff_ffffn;

/**
 * Each pattern is followed by its inverse, so that every cell holds both values. The last two differ from word to word and find
 * addressing errors.
 */
export const memoryPatterns: readonly MemoryPattern[] = [
  { name: "zeros", mask: 0n, constant: 0n },
  { name: "ones", mask: 0n, constant: ones },
  { name: "checkerboard", mask: 0n, constant: 0x5555_5555_5555_5555n },
  { name: "inverse checkerboard", mask: 0n, constant: 0xaaaa_aaaa_aaaa_aaaan },
  { name: "address", mask: ones, constant: 0n },
  { name: "inverse address", mask: ones, constant: ones },
];

/** The word of a pattern at an index; must equal `patternWord` in ptx/base.ts. */
export function patternWordAt({ mask, constant }: MemoryPattern, index: bigint): bigint {
  const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);
  let mixed = u64((index + 1n) * patternMix.first);
  mixed = u64((mixed ^ (mixed >> 29n)) * patternMix.second);
  mixed ^= mixed >> 32n;
  return (mixed & mask) ^ constant;
}
