/**
 * The PTX module for tensor cores since Ampere: bf16 products with known results and the bf16 rate by mma.sync. On Hopper
 * mma.sync reaches about 60 % of the chip's peak, so wgmma.ts measures the rate there. Pure.
 */
import {
  addToDigest,
  counted,
  kernel,
  lines,
  list,
  mixing,
  moduleHeader,
  productKernel,
  startClock,
  storeDigest,
} from "./kernel.ts";

export const tensorProductShape = { threads: 128, iterations: 256 } as const;

const instruction = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
const flopPerMma = 2 * 16 * 8 * 16;

/** Two integers from −8 to 7 as a pair of bf16, which represents them exactly. */
const nextPair = (register: string): string => `
  mad.lo.u32 %state, %state, ${mixing.multiplier}, ${mixing.increment};
  shr.u32 %digit, %state, 8;
  and.b32 %digit, %digit, 15;
  sub.s32 %digit, %digit, 8;
  cvt.rn.f32.s32 %real, %digit;
  mov.b32 %low16, %real;
  shr.u32 %low16, %low16, 16;
  shr.u32 %digit, %state, 20;
  and.b32 %digit, %digit, 15;
  sub.s32 %digit, %digit, 8;
  cvt.rn.f32.s32 %real, %digit;
  mov.b32 %high16, %real;
  and.b32 %high16, %high16, 0xFFFF0000;
  or.b32 %${register}, %low16, %high16;`;

/**
 * Sums of integers around 1.5 × 2²² stay exact in FP32 and are never zero, so that each of the 32 bits of an accumulator counts.
 * The digest includes every intermediate sum, so a flipped bit is found even if later sums would round it away.
 */
const products = productKernel(
  "tensor_products",
  `  .reg .u32 %state, %digit, %low16, %high16, %sum;
  .reg .b32 ${list("a", 4)}, ${list("b", 2)};
  .reg .f32 %real, ${list("c", 4)};
  add.u32 %state, %tid0, 1;
  mad.lo.u32 %state, %state, ${mixing.golden}, %seed32;
${lines(4, (at) => `  mov.f32 %c${at}, 0f4AC00000;`)}`,
  `${lines(4, (at) => nextPair(`a${at}`))}
${lines(2, (at) => nextPair(`b${at}`))}
  ${instruction} {${list("c", 4)}}, {${list("a", 4)}}, {${list("b", 2)}}, {${list("c", 4)}};
  mov.b32 %sum, %c0;
  xor.b32 %sum, %sum, %flip;
  mov.b32 %c0, %sum;
${lines(4, (at) => `  mov.b32 %sum, %c${at};\n${addToDigest("digest", "sum")}`)}`,
);

export const mmaShape = { threads: 256, blocksPerSm: 2, chains: 8, rounds: 8 } as const;
/** FLOP of one block per loop. */
export const mmaFlopPerLoop =
  (mmaShape.threads / 32) * mmaShape.chains * mmaShape.rounds * flopPerMma;

/** Random bf16 pairs of magnitude 0.5 to 2; zeros would draw less power and run at higher clocks. */
export const randomPair = (register: string, index: string): string => `
  mul.lo.u32 %hash, ${index}, ${mixing.golden};
  shr.u32 %fold, %hash, 15;
  xor.b32 %hash, %hash, %fold;
  mul.lo.u32 %hash, %hash, ${mixing.highMultiplier};
  and.b32 %hash, %hash, 0x80FF80FF;
  or.b32 %${register}, %hash, 0x3F003F00;`;

/** Rounds alternate between A and −A, so that sums stay bounded. */
const rate = kernel({
  name: "tensor_rate",
  params: ["digests", "records", "loops"],
  directives: `.maxntid ${mmaShape.threads}, 1, 1`,
  body: `
  .reg .b32 ${list("a", 4)}, ${list("n", 4)}, ${list("b", 2 * mmaShape.chains)};
  .reg .f32 ${list("c", 4 * mmaShape.chains)};
  .reg .u32 %digest, %hash, %fold, %seed, %loop, %limit;
  .reg .pred %more;
  mul.lo.u32 %seed, %tid0, 64;
${lines(4, (at) => `  add.u32 %seed, %seed, 1;${randomPair(`a${at}`, "%seed")}\n  xor.b32 %n${at}, %a${at}, 0x80008000;`)}
${lines(2 * mmaShape.chains, (at) => `  add.u32 %seed, %seed, 1;${randomPair(`b${at}`, "%seed")}`)}
${lines(4 * mmaShape.chains, (at) => `  mov.f32 %c${at}, 0f${(0x3f80_0000 + at * 0x1_0001).toString(16).toUpperCase()};`)}
  cvt.u32.u64 %limit, %loops;
  mov.u32 %loop, 0;
${startClock}
next:
${lines(mmaShape.rounds, (round) =>
  lines(mmaShape.chains, (chain) => {
    const sums = counted(4, (at) => `%c${4 * chain + at}`).join(", ");
    return `  ${instruction} {${sums}}, {${list(round % 2 === 0 ? "a" : "n", 4)}}, {%b${2 * chain}, %b${2 * chain + 1}}, {${sums}};`;
  }),
)}
  add.u32 %loop, %loop, 1;
  setp.lt.u32 %more, %loop, %limit;
  @%more bra next;
  mov.u32 %digest, ${mixing.digestBasis};
${lines(4 * mmaShape.chains, (at) => `  mov.b32 %hash, %c${at};\n${addToDigest("digest", "hash")}`)}
${storeDigest}`,
});

export const tensorModule = (): string => moduleHeader("7.0", "sm_80") + products + rate;
