/**
 * The PTX module for Hopper: the bf16 rate by wgmma, the instruction its peak is quoted for. Runs on compute capability 9.0 only. Pure.
 */
import {
  addToDigest,
  kernel,
  lines,
  list,
  mixing,
  moduleHeader,
  startClock,
  storeDigest,
} from "./kernel.ts";
import { randomPair } from "./tensor.ts";

/** Two warpgroups of 64 × 256 on one shared B, tiled as in matrix libraries; four steps of 16 along K are in shared memory. */
export const wgmmaShape = { threads: 256, blocksPerSm: 1, steps: 4, perLoop: 16 } as const;
const sums = 128;
const tile = { aBytes: 64 * 16 * 2, bBytes: 256 * 16 * 2 } as const;
const bBytes = wgmmaShape.steps * tile.bBytes;
const sharedBytes = bBytes + 2 * wgmmaShape.steps * tile.aBytes;
export const wgmmaFlopPerLoop = 2 * wgmmaShape.perLoop * 2 * 64 * 256 * 16;

/**
 * A matrix descriptor without swizzle: bits 0–13 the address / 16, 16–29 the distance of core matrices (8 × 16 bytes) along K / 16,
 * 32–45 along M or N / 16. A pair along K is contiguous here: 128 and 256 bytes.
 */
const strides = (256n / 16n) * 2n ** 32n + (128n / 16n) * 2n ** 16n;

const descriptor = (register: string, address: string): string => `
  shr.u32 %hash, %${address}, 4;
  and.b32 %hash, %hash, 0x3FFF;
  cvt.u64.u32 %${register}, %hash;
  or.b64 %${register}, %${register}, ${strides};`;

const rate = kernel({
  name: "tensor_rate",
  params: ["digests", "records", "loops"],
  directives: `.maxntid ${wgmmaShape.threads}, 1, 1`,
  body: `
  .shared .align 128 .b8 tiles[${sharedBytes}];
  .reg .f32 ${list("c", sums)};
  .reg .u32 %digest, %hash, %fold, %index, %value, %base, %at, %group, %loop, %limit;
  .reg .u64 %descriptorA0, %descriptorB0, %descriptorA, %descriptorB;
  .reg .pred %more;
  mov.u32 %base, tiles;
  mov.u32 %index, %tid0;
next_word:
  add.u32 %value, %index, 1;
${randomPair("value", "%value")}
  shl.b32 %at, %index, 2;
  add.u32 %at, %at, %base;
  st.shared.u32 [%at], %value;
  add.u32 %index, %index, ${wgmmaShape.threads};
  setp.lt.u32 %more, %index, ${sharedBytes / 4};
  @%more bra next_word;
  fence.proxy.async;
  bar.sync 0;
${descriptor("descriptorB0", "base")}
  shr.u32 %group, %tid0, 7;
  mad.lo.u32 %at, %group, ${wgmmaShape.steps * tile.aBytes}, ${bBytes};
  add.u32 %at, %at, %base;
${descriptor("descriptorA0", "at")}
${lines(sums, (at) => `  mov.f32 %c${at}, 0f${(0x3f80_0000 + at * 0x1_0001).toString(16).toUpperCase()};`)}
  cvt.u32.u64 %limit, %loops;
  mov.u32 %loop, 0;
${startClock}
next:
  wgmma.fence.sync.aligned;
${lines(wgmmaShape.perLoop, (turn) => {
  const step = turn % wgmmaShape.steps;
  const sign = Math.floor(turn / wgmmaShape.steps) % 2 === 0 ? 1 : -1;
  return `  add.u64 %descriptorA, %descriptorA0, ${(step * tile.aBytes) / 16};
  add.u64 %descriptorB, %descriptorB0, ${(step * tile.bBytes) / 16};
  wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {${list("c", sums)}}, %descriptorA, %descriptorB, 1, ${sign}, 1, 0, 0;`;
})}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.u32 %loop, %loop, 1;
  setp.lt.u32 %more, %loop, %limit;
  @%more bra next;
  mov.u32 %digest, ${mixing.digestBasis};
${lines(sums, (at) => `  mov.b32 %hash, %c${at};\n${addToDigest("digest", "hash")}`)}
${storeDigest}`,
});

export const wgmmaModule = (): string => moduleHeader("8.0", "sm_90a") + rate;
