/** Writes patterns over nearly all free device memory and reads them back. */
import { CudaError, cudaCode } from "./cuda.ts";
import { type MemoryPattern, memoryPatterns } from "./expected.ts";
import { FindingsMemory } from "./findings.ts";
import type { MemoryResult } from "./protocol.ts";
import { baseModule } from "./ptx/base.ts";
import { type CheckSession, pause, sliceSeconds } from "./session.ts";

const largestChunk = 2 ** 32;
const smallestChunk = 2 ** 24;
/** Memory left free, so that a program that starts meanwhile can allocate. */
const reserve = { bytes: 2 ** 29, share: 0.05 } as const;
const shape = { threads: 256, blocksPerSm: 8 } as const;

interface Chunk {
  readonly address: number;
  readonly words: number;
  /** Index of the chunk's first word within all of the tested memory. */
  readonly first: number;
  readonly free: () => void;
}

/** The memory to test and the kernels that test it. */
export class MemoryUnderTest {
  readonly chunks: readonly Chunk[];
  readonly bytes: number;
  readonly #session: CheckSession;
  readonly #fill: number;
  readonly #verify: number;
  readonly findings: FindingsMemory;

  constructor(session: CheckSession, limitBytes = Infinity) {
    const { device } = session;
    this.#session = session;
    const kernelOf = device.loadModule(baseModule());
    [this.#fill, this.#verify] = [kernelOf("fill_pattern"), kernelOf("verify_pattern")];
    this.findings = new FindingsMemory(device);
    this.chunks = allocateChunks(session, limitBytes);
    this.bytes = this.chunks.reduce((sum, { words }) => sum + words * 8, 0);
  }

  /** `fill` and `verify` return the seconds on the GPU. */
  fill(chunk: Chunk, pattern: MemoryPattern): number {
    return this.#run(this.#fill, chunk, pattern, []);
  }

  verify(chunk: Chunk, pattern: MemoryPattern): number {
    return this.#run(this.#verify, chunk, pattern, [this.findings.address]);
  }

  #run(kernel: number, chunk: Chunk, pattern: MemoryPattern, rest: readonly number[]): number {
    const { device, facts } = this.#session;
    const { mask, constant } = pattern;
    return device.time(() =>
      device.launch({
        kernel,
        blocks: facts.smCount * shape.blocksPerSm,
        threads: shape.threads,
        params: [chunk.address, chunk.words, chunk.first, mask, constant, ...rest],
      }),
    );
  }

  free(): void {
    for (const { free } of this.chunks) free();
    this.findings.free();
  }
}

function allocateChunks({ device }: CheckSession, limitBytes: number): readonly Chunk[] {
  const { freeBytes } = device.memory();
  let left = Math.min(limitBytes, freeBytes - Math.min(reserve.bytes, freeBytes * reserve.share));
  let size = largestChunk;
  const chunks: Chunk[] = [];
  let first = 0;
  while (left >= smallestChunk && size >= smallestChunk) {
    const bytes = Math.floor(Math.min(size, left) / 4_096) * 4_096;
    try {
      const { address, free } = device.allocate(bytes);
      chunks.push({ address, words: bytes / 8, first, free });
      first += bytes / 8;
      left -= bytes;
    } catch (thrown) {
      // Free memory may be fragmented, so smaller chunks may still fit.
      if (!(thrown instanceof CudaError) || thrown.code !== cudaCode.outOfMemory) throw thrown;
      size = Math.floor(bytes / 2);
    }
  }
  if (chunks.length === 0) throw new CudaError("cuMemAlloc_v2", cudaCode.outOfMemory);
  return chunks;
}

export async function testMemory(session: CheckSession, seconds: number): Promise<MemoryResult> {
  const memory = new MemoryUnderTest(session);
  session.guard.expectMemory(session.device.memory().freeBytes);
  const startMs = performance.now();
  const fraction = (): number => (performance.now() - startMs) / 1_000 / Math.max(seconds, 0.001);
  let [passes, time, sinceMs] = [0, 0, startMs];
  const overAll = async (work: (chunk: Chunk) => number): Promise<void> => {
    for (const chunk of memory.chunks) {
      time += work(chunk);
      if (performance.now() - sinceMs < sliceSeconds * 1_000) continue;
      await pause(session, "memory", fraction());
      sinceMs = performance.now();
    }
  };
  do {
    // Write everything before reading anything back, so that two addresses of the same cell are found.
    for (const pattern of memoryPatterns) {
      await overAll((chunk) => memory.fill(chunk, pattern));
      await overAll((chunk) => memory.verify(chunk, pattern));
    }
    passes++;
  } while (fraction() < 1);
  await pause(session, "memory", 1);
  const { wrong, first, bits } = memory.findings.read();
  memory.free();
  return {
    test: "memory",
    bytes: memory.bytes,
    patterns: memoryPatterns.length,
    passes,
    seconds: time,
    wrongWords: wrong,
    ...(wrong === 0
      ? {}
      : { firstOffset: Number(first) * 8, bits: `0x${bits.toString(16).padStart(16, "0")}` }),
  };
}
