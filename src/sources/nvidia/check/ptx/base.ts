/** The PTX module for every GPU since Pascal: memory patterns, integer products with known results, and the FP32 rate. Pure. */
import {
  addToDigest,
  kernel,
  lines,
  list,
  mixing,
  moduleHeader,
  productKernel,
  reportWrong,
  startClock,
  storeDigest,
} from "./kernel.ts";

/** Constants of the word of a pattern at an index; expected.ts uses the same. */
export const patternMix = {
  first: 0x9e37_79b9_7f4a_7c15n,
  second: 0xbf58_476d_1ce4_e5b9n,
} as const;

const hex = (value: bigint): string => `0x${value.toString(16).toUpperCase()}U`;

/** `%word = (mix(%index) & %mask) ^ %constant`: a constant pattern has mask 0, an address-dependent one has all ones. */
const patternWord = (word: string, offset: number): string => `
  add.u64 %mixed, %index, ${offset + 1};
  mul.lo.u64 %mixed, %mixed, ${hex(patternMix.first)};
  shr.u64 %half, %mixed, 29;
  xor.b64 %mixed, %mixed, %half;
  mul.lo.u64 %mixed, %mixed, ${hex(patternMix.second)};
  shr.u64 %half, %mixed, 32;
  xor.b64 %mixed, %mixed, %half;
  and.b64 %mixed, %mixed, %mask;
  xor.b64 %${word}, %mixed, %constant;`;

/** A loop over 16 bytes per thread: `%index` counts u64 words from `%first`, `%at` is their address. */
const overWords = (body: string): string => `
  .reg .u32 %rank;
  .reg .u64 %index, %step, %at, %stepBytes, %left, %mixed, %half, %word0, %word1;
  .reg .pred %isDone;
  mad.lo.u32 %rank, %block, %threads, %tid0;
  mul.wide.u32 %left, %rank, 2;
  shl.b64 %at, %left, 3;
  add.u64 %at, %at, %start;
  add.u64 %index, %left, %first;
  mul.lo.u32 %rank, %blocks, %threads;
  mul.wide.u32 %step, %rank, 2;
  shl.b64 %stepBytes, %step, 3;
next:
  setp.ge.u64 %isDone, %left, %words;
  @%isDone bra done;
${patternWord("word0", 0)}
${patternWord("word1", 1)}
${body}
  add.u64 %left, %left, %step;
  add.u64 %index, %index, %step;
  add.u64 %at, %at, %stepBytes;
  bra next;
done:`;

const fill = kernel({
  name: "fill_pattern",
  params: ["start", "words", "first", "mask", "constant"],
  body: overWords("  st.global.cs.v2.u64 [%at], {%word0, %word1};"),
});

const verify = kernel({
  name: "verify_pattern",
  params: ["start", "words", "first", "mask", "constant", "findings"],
  body: overWords(`
  .reg .u64 %got0, %got1, %old;
  .reg .pred %isRight;
  ld.global.cs.v2.u64 {%got0, %got1}, [%at];
  xor.b64 %got0, %got0, %word0;
  xor.b64 %got1, %got1, %word1;
  setp.eq.u64 %isRight, %got0, 0;
  @%isRight bra second;
${reportWrong("index", "got0").replace("  .reg .u64 %old;", "")}
second:
  setp.eq.u64 %isRight, %got1, 0;
  @%isRight bra proceed;
  add.u64 %half, %index, 1;
${reportWrong("half", "got1").replace("  .reg .u64 %old;", "")}
proceed:`),
});

const integerProducts = productKernel(
  "integer_products",
  `  .reg .u32 %x, %y;
  add.u32 %x, %tid0, 1;
  mad.lo.u32 %x, %x, ${mixing.golden}, %seed32;`,
  `  mad.lo.u32 %x, %x, ${mixing.multiplier}, ${mixing.increment};
  xor.b32 %x, %x, %flip;
  mul.hi.u32 %y, %x, ${mixing.highMultiplier};
${addToDigest("digest", "x")}
${addToDigest("digest", "y")}`,
);

/** `chains` per thread, and `links` of each chain per pass of the loop. */
export const fp32Shape = { threads: 256, blocksPerSm: 4, chains: 8, links: 32 } as const;
/** FLOP of one block per loop. */
export const fp32FlopPerLoop = fp32Shape.threads * fp32Shape.chains * fp32Shape.links * 2;

/**
 * x ← x² − 1.9 is bounded, chaotic and exactly rounded, so every SM computes the same bits after any number of steps, and a wrong
 * bit grows instead of being rounded away.
 */
const fp32 = kernel({
  name: "fp32_rate",
  params: ["digests", "records", "loops"],
  directives: `.maxntid ${fp32Shape.threads}, 1, 1`,
  body: `
  .reg .f32 ${list("x", fp32Shape.chains)}, %shift;
  .reg .u32 %digest, %hash, %loop, %limit;
  .reg .pred %more;
${lines(
  fp32Shape.chains,
  (chain) => `  mad.lo.u32 %hash, %tid0, ${fp32Shape.chains}, ${chain + 1};
  mul.lo.u32 %hash, %hash, ${mixing.golden};
  and.b32 %hash, %hash, 0x807FFFFF;
  or.b32 %hash, %hash, 0x3F000000;
  mov.b32 %x${chain}, %hash;`,
)}
  mov.f32 %shift, 0fBFF33333;
  cvt.u32.u64 %limit, %loops;
  mov.u32 %loop, 0;
${startClock}
next:
${lines(fp32Shape.links, () => lines(fp32Shape.chains, (chain) => `  fma.rn.f32 %x${chain}, %x${chain}, %x${chain}, %shift;`))}
  add.u32 %loop, %loop, 1;
  setp.lt.u32 %more, %loop, %limit;
  @%more bra next;
  mov.u32 %digest, ${mixing.digestBasis};
${lines(fp32Shape.chains, (chain) => `  mov.b32 %hash, %x${chain};\n${addToDigest("digest", "hash")}`)}
${storeDigest}`,
});

export const baseModule = (): string =>
  moduleHeader("6.4", "sm_60") + fill + verify + integerProducts + fp32;
