/**
 * PTX text shared by the kernels of `gpulse check`: parameters, thread numbers, digests and the report of a wrong value. The
 * driver compiles the text, so no toolkit is needed. Pure.
 */

/** Constants of the arithmetic shared by the kernels and the host's reference (expected.ts). */
export const mixing = {
  multiplier: 1_664_525,
  increment: 1_013_904_223,
  golden: 2_654_435_761,
  highMultiplier: 2_246_822_519,
  digestBasis: 2_166_136_261,
  digestPrime: 16_777_619,
} as const;

export const counted = <T>(count: number, each: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => each(index));

export const lines = (count: number, each: (index: number) => string): string =>
  counted(count, each).join("\n");

/** `%c0, %c1, …` */
export const list = (register: string, count: number): string =>
  counted(count, (index) => `%${register}${index}`).join(", ");

export interface KernelText {
  readonly name: string;
  /** Every parameter is 64 bits wide, so that the host packs them the same way for every kernel. */
  readonly params: readonly string[];
  /** Directives between parameters and body, such as `.maxntid 256, 1, 1`. */
  readonly directives?: string;
  readonly body: string;
}

/** An entry point whose parameters are in registers of the same names, with `%tid0`, `%block`, `%threads` and `%blocks` set. */
export function kernel({ name, params, directives = "", body }: KernelText): string {
  const declared = params.map((param) => `  .param .u64 p_${param}`).join(",\n");
  const loads = params.map((param) => `  ld.param.u64 %${param}, [p_${param}];`).join("\n");
  return `
.visible .entry ${name}(
${declared}
)
${directives}
{
  .reg .u32 %tid0, %block, %threads, %blocks;
  .reg .u64 ${params.map((param) => `%${param}`).join(", ")};
${loads}
  mov.u32 %tid0, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %blocks, %nctaid.x;
${body}
  ret;
}
`;
}

export const moduleHeader = (version: string, target: string): string =>
  `.version ${version}\n.target ${target}\n.address_size 64\n`;

/** FNV-1a over whole words: xor, then multiply. Every step is a bijection of the digest, so one flipped bit is never lost. */
export const addToDigest = (digest: string, word: string): string =>
  `  xor.b32 %${digest}, %${digest}, %${word};
  mul.lo.u32 %${digest}, %${digest}, ${mixing.digestPrime};`;

/** Sets `%clock0` after every thread of the block has loaded its inputs. */
export const startClock = `
  .reg .u64 %clock0, %clock1;
  bar.sync 0;
  mov.u64 %clock0, %clock64;`;

/**
 * Stores the thread's `%digest` in `digests[block][thread]`, and in `records[block]` two u64: the block's cycles and its SM.
 * Needs the parameters `digests` and `records`.
 */
export const storeDigest = `
  bar.sync 0;
  mov.u64 %clock1, %clock64;
  .reg .u32 %rank, %sm;
  .reg .u64 %to, %wide;
  .reg .pred %isOther;
  mad.lo.u32 %rank, %block, %threads, %tid0;
  mul.wide.u32 %to, %rank, 4;
  add.u64 %to, %to, %digests;
  st.global.u32 [%to], %digest;
  setp.ne.u32 %isOther, %tid0, 0;
  @%isOther bra stored;
  mul.wide.u32 %to, %block, 16;
  add.u64 %to, %to, %records;
  sub.u64 %clock1, %clock1, %clock0;
  st.global.u64 [%to], %clock1;
  mov.u32 %sm, %smid;
  cvt.u64.u32 %wide, %sm;
  st.global.u64 [%to + 8], %wide;
stored:`;

/**
 * Layout of `findings`, eight u64: the number of wrong values, the lowest offset of one, the OR of all differing bits, one
 * unused, and a bitmap of the participating SMs (256 bits).
 */
export const findings = { bytes: 64, wrong: 0, first: 8, bits: 16, sms: 32, smBytes: 32 } as const;

/** Adds one wrong value to `findings`. */
export const reportWrong = (place: string, bits: string): string => `
  .reg .u64 %old;
  atom.global.add.u64 %old, [%findings], 1;
  atom.global.min.u64 %old, [%findings + ${findings.first}], %${place};
  atom.global.or.b64 %old, [%findings + ${findings.bits}], %${bits};`;

/** Marks this SM in the bitmap; the first thread of each block does it. */
const markSm = `
  .reg .u32 %sm, %smWord, %smBit, %smOld;
  .reg .u64 %smAt;
  .reg .pred %isNotFirst;
  mov.u32 %sm, %smid;
  setp.ne.u32 %isNotFirst, %tid0, 0;
  @%isNotFirst bra marked;
  shr.u32 %smWord, %sm, 5;
  min.u32 %smWord, %smWord, ${findings.smBytes / 4 - 1};
  mul.wide.u32 %smAt, %smWord, 4;
  add.u64 %smAt, %smAt, %findings;
  and.b32 %smBit, %sm, 31;
  shl.b32 %smBit, 1, %smBit;
  atom.global.or.b32 %smOld, [%smAt + ${findings.sms}], %smBit;
marked:`;

/** Parameters of the two kernels that compare with known results; `flip…` select the one bit to flip in the self-test. */
const productParams = [
  "expected",
  "findings",
  "repeats",
  "iterations",
  "seed",
  "flipBlock",
  "flipThread",
  "flipStep",
  "flipMask",
] as const;

/**
 * The frame around a calculation with a known digest per thread: repeats it, compares, reports. `start` sets the inputs from
 * `%seed32` and `%tid0`; `step` is one iteration, which xors `%flip` into one value of the result and adds to `%digest`. `%flip`
 * is 0 except in one thread and step of a self-test.
 */
export const productKernel = (name: string, start: string, step: string): string =>
  kernel({
    name,
    params: productParams,
    body: `${markSm}
  .reg .u32 %seed32, %wanted, %digest, %flip, %flipBits, %blockOf, %threadOf, %count, %turn, %total, %stepNo, %flipAt, %limit;
  .reg .u64 %at, %place, %bits, %low;
  .reg .pred %isFlipBlock, %isFlipThread, %isNow, %more, %isRight;
  cvt.u32.u64 %seed32, %seed;
  cvt.u32.u64 %limit, %iterations;
  cvt.u32.u64 %total, %repeats;
  cvt.u32.u64 %blockOf, %flipBlock;
  cvt.u32.u64 %threadOf, %flipThread;
  cvt.u32.u64 %flipAt, %flipStep;
  cvt.u32.u64 %flipBits, %flipMask;
  setp.eq.u32 %isFlipBlock, %block, %blockOf;
  setp.eq.and.u32 %isFlipThread, %tid0, %threadOf, %isFlipBlock;
  selp.u32 %flipBits, %flipBits, 0, %isFlipThread;
  mul.wide.u32 %at, %tid0, 4;
  add.u64 %at, %at, %expected;
  ld.global.u32 %wanted, [%at];
  mov.u32 %stepNo, 0;
  mov.u32 %turn, 0;
again:
  mov.u32 %digest, ${mixing.digestBasis};
  mov.u32 %count, 0;
${start}
iterate:
  setp.eq.u32 %isNow, %stepNo, %flipAt;
  selp.u32 %flip, %flipBits, 0, %isNow;
${step}
  add.u32 %stepNo, %stepNo, 1;
  add.u32 %count, %count, 1;
  setp.lt.u32 %more, %count, %limit;
  @%more bra iterate;
  setp.eq.u32 %isRight, %digest, %wanted;
  @%isRight bra right;
  xor.b32 %digest, %digest, %wanted;
  cvt.u64.u32 %bits, %digest;
  cvt.u64.u32 %place, %sm;
  shl.b64 %place, %place, 32;
  cvt.u64.u32 %low, %block;
  or.b64 %place, %place, %low;
${reportWrong("place", "bits")}
right:
  add.u32 %turn, %turn, 1;
  setp.lt.u32 %more, %turn, %total;
  @%more bra again;`,
  });
