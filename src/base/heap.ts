/**
 * The memory of JavaScript's own heap, as far as the store has a say in it. The head stands on shared memory, which the
 * collector does not count: left alone it sees no reason to free a head that was sealed.
 */
import v8 from "node:v8";
import vm from "node:vm";

/** By how much the young generation grows when much of it survives: 1 is not at all. */
let growth: 1 | 2 | 4 = 1;
/** A heap this large is looked through at every small collection in part, and 16 MiB more do not matter to it. */
const largeHeapBytes = 256 * 2 ** 20;
/** One of this size gets a young generation of 4 MiB: 200 scraped targets cost a fifteenth less then. */
const mediumHeapBytes = 64 * 2 ** 20;
const mediumYoungBytes = 4 * 2 ** 20;
const growthCheckMs = 250;

/**
 * The young generation stays at 1 MiB instead of growing to 16, unless it was let grow. A trade for hubs of few series: with
 * 2,560 it saves about 20 MiB. To be called before it grows, and again when a thread has come up: each new heap sets it back
 * for all.
 */
export function limitYoungGeneration(): void {
  v8.setFlagsFromString(`--semi-space-growth-factor=${growth}`);
  // Waking other threads for a few MiB costs more than it saves: a tenth of the processor time of pushes.
  v8.setFlagsFromString(growth === 2 ? "--parallel-scavenge" : "--no-parallel-scavenge");
}

/** Lets it grow to 16 MiB, for work that makes much and keeps little. */
export function growYoungGeneration(): void {
  growth = 2;
  limitYoungGeneration();
}

/**
 * Lets it grow where the heap has become large. The agents of 10,000 GPUs cost a hub twice the processor time without:
 * eighty small collections a second, and each looks at all that the old generation has written to since.
 */
export function growYoungGenerationWithHeap(): void {
  if (growth !== 1) return;
  const usedBytes = v8.getHeapStatistics().used_heap_size;
  if (usedBytes > largeHeapBytes) growYoungGeneration();
  else if (usedBytes > mediumHeapBytes) growToMedium();
}

/**
 * Lets it grow to 4 MiB. 1,000 rules took a fifth more processor time with 1 MiB, and 2,000 rules 30 MiB more memory with 16.
 * V8 quadruples it at one of the next small collections; from then on it stays.
 */
export function growToMedium(): void {
  if (growth !== 1 || youngBytes() >= mediumYoungBytes) return;
  growth = 4;
  limitYoungGeneration();
  const timer = setInterval(() => {
    if (growth === 4 && youngBytes() < mediumYoungBytes) return;
    clearInterval(timer);
    if (growth === 4) growth = 1;
    limitYoungGeneration();
  }, growthCheckMs);
  timer.unref();
}

/** Of one of its two halves. */
function youngBytes(): number {
  const young = v8.getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return (young?.space_size ?? 0) / 2;
}

let collect: (() => void) | undefined;

/**
 * A full collection now: 10 ms, and 12 with 400,000 series. Flags are those of the whole process: where another thread clears
 * this one at the same moment, `gc` is missing, and the next call tries again.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    v8.setFlagsFromString("--expose-gc");
    const exposed = vm.runInNewContext("globalThis.gc") as (() => void) | undefined;
    // V8 checks stored code (boot.ts) against the flags: with this one left on it would be neither used nor written.
    v8.setFlagsFromString("--no-expose-gc");
    collect = exposed;
  }
  collect?.();
}
