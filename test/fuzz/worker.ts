// The loop of one target, in its own thread: mutates the inputs that reached new code, and reports what breaks. The current input
// is in shared memory, so that the watching thread can save it if this one hangs or dies.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";

import type { FuzzTarget } from "./contract.ts";
import { keyOf, shrink } from "./findings.ts";
import { mutate, seededRandom } from "./mutate.ts";
import { BranchCoverage } from "./branch-coverage.ts";
import { type FuzzJob, type FuzzOutcome, type FuzzReport, sharedHeadBytes } from "./shared.ts";

const largestKeptBytes = 16_384;
const largestCorpus = 1_500;
/** For inputs of at most a quarter of a megabyte, with counters in every branch, on a busy machine. */
const slowMs = 5_000;
const mostFindings = 8;

interface Bundle {
  readonly targets: readonly FuzzTarget[];
  isRefusal(target: FuzzTarget, thrown: unknown): boolean;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function work(given: FuzzJob): Promise<FuzzOutcome> {
  const bundle = (await import(given.bundle)) as Bundle;
  const target = bundle.targets.find(({ name }) => name === given.target);
  if (target === undefined) throw new Error(`BUG: no target ${given.target}`);
  const reached = new BranchCoverage((globalThis as { fuzzCounters?: Uint8Array }).fuzzCounters);
  const words = given.words.map((word) => Buffer.from(word));
  const random = seededRandom(given.seed);
  const head = new Int32Array(given.shared, 0, 2);
  const place = new Uint8Array(given.shared, sharedHeadBytes);
  const found = new Set<string>();
  const corpus: Buffer[] = [];

  const runOnce = async (bytes: Buffer): Promise<unknown> => {
    try {
      const result = target.parse(bytes);
      if (result instanceof Promise) await result;
    } catch (thrown) {
      if (!bundle.isRefusal(target, thrown)) return thrown ?? new Error("threw nothing");
    }
    for (const key in {}) return new Error(`every object now has "${key}"`);
    return undefined;
  };
  const fastestMs = async (bytes: Buffer): Promise<number> => {
    let bestMs = Infinity;
    for (let turn = 0; turn < 3; turn++) {
      const startMs = performance.now();
      await runOnce(bytes);
      bestMs = Math.min(bestMs, performance.now() - startMs);
    }
    return bestMs;
  };
  const tell = async (thrown: unknown, bytes: Buffer): Promise<void> => {
    const key = keyOf(thrown);
    if (found.has(key) || found.size >= mostFindings) return;
    found.add(key);
    // A slow input is slow at each attempt, so it is stored without shrinking.
    const isSlow = thrown instanceof Error && thrown.message.startsWith("slow:");
    const small = isSlow
      ? bytes
      : await shrink(bytes, async (less) => keyOf(await runOnce(less)) === key);
    const says = thrown instanceof Error ? (thrown.stack ?? String(thrown)) : String(thrown);
    parentPort?.postMessage({ kind: "finding", says, bytes: small } satisfies FuzzReport);
  };
  const feed = async (bytes: Buffer): Promise<boolean> => {
    place.set(bytes.subarray(0, place.length));
    head[1] = Math.min(bytes.length, place.length);
    Atomics.add(head, 0, 1);
    reached.clear();
    const startMs = performance.now();
    const thrown = await runOnce(bytes);
    const tookMs = performance.now() - startMs;
    const isNew = reached.learn();
    if (thrown !== undefined) await tell(thrown, bytes);
    else if (tookMs > slowMs && (await fastestMs(bytes)) > slowMs)
      await tell(new Error(`slow: ${Math.round(tookMs)} ms for ${bytes.length} bytes`), bytes);
    return isNew;
  };
  const keep = (bytes: Buffer): void => {
    if (bytes.length > largestKeptBytes) return;
    const own = Buffer.from(bytes);
    if (corpus.length < largestCorpus) corpus.push(own);
    else corpus[Math.floor(random() * corpus.length)] = own;
  };

  for (const seed of [...target.seeds, ...given.kept]) {
    const bytes = Buffer.from(seed as Uint8Array);
    await feed(bytes);
    corpus.push(bytes);
  }
  const fromSeeds = reached.count;
  const endMs = performance.now() + given.seconds * 1_000;
  let [inputs, peakHeapBytes, levelBytes] = [corpus.length, 0, 0];
  for (; inputs < given.inputs && performance.now() < endMs; inputs++) {
    if (inputs === Math.floor(given.inputs / 4)) {
      collect();
      levelBytes = process.memoryUsage().heapUsed;
    }
    // The newest inputs reached the newest code: half of the mutations start from them.
    const recent = random() < 0.5 ? corpus.slice(-20) : corpus;
    const bytes = mutate(recent, random, words).subarray(0, target.maxBytes);
    if (await feed(bytes)) keep(bytes);
    if (inputs % 64 === 0) peakHeapBytes = Math.max(peakHeapBytes, process.memoryUsage().heapUsed);
  }
  collect();
  const grownBytes = levelBytes === 0 ? 0 : process.memoryUsage().heapUsed - levelBytes;
  const smallest = await reached.smallest(corpus, runOnce);
  return {
    inputs,
    reached: reached.count,
    newlyReached: reached.count - fromSeeds,
    corpus: smallest,
    peakHeapBytes,
    grownBytes,
  };
}

const outcome = await work(workerData as FuzzJob);
parentPort?.postMessage({ kind: "done", outcome } satisfies FuzzReport);
