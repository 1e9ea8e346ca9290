/**
 * Tunes V8's own heap for the store. The head is in shared memory, which the garbage collector does not count: by itself it sees no
 * reason to free a sealed head.
 */
import v8 from "node:v8";
import vm from "node:vm";

/** Growth factor of the young generation when many objects survive; 1 means no growth. */
let growth: 1 | 4 | 16 = 1;
/** Small collections scan parts of a heap this large, and 16 MiB more do not matter to it. */
const largeHeapBytes = 256 * 2 ** 20;
/** A heap of this size gets a young generation of 4 MiB: 200 scrape targets then cost a fifteenth less. */
const mediumHeapBytes = 64 * 2 ** 20;
const mediumYoungBytes = 4 * 2 ** 20;
const growthCheckMs = 250;

/**
 * Keeps the young generation at 1 MiB instead of letting it grow to 16, unless a function below allowed growth. A trade-off for
 * hubs with few series: with 2,560 it saves about 20 MiB. Call it before the generation grows, and again after a thread has
 * started: each new heap resets the flag for all.
 */
export function limitYoungGeneration(): void {
  v8.setFlagsFromString(`--semi-space-growth-factor=${growth}`);
  // Waking other threads for a few MiB costs more than it saves: a tenth of the processor time of pushes.
  v8.setFlagsFromString(growth === 16 ? "--parallel-scavenge" : "--no-parallel-scavenge");
}

/**
 * Lets the young generation grow to 16 MiB at once, for work that allocates much and retains little: doubled step by step, it took
 * a log of 40,000 rows to Kafka a quarter more collections.
 */
export function growYoungGeneration(): void {
  growth = 16;
  limitYoungGeneration();
}

/**
 * Lets the young generation grow once the heap is large. Without it the agents of 10,000 GPUs cost a hub twice the processor time:
 * eighty small collections a second, each of which scans everything that the old generation has written to since.
 */
export function growYoungGenerationWithHeap(): void {
  if (growth !== 1) return;
  const usedBytes = v8.getHeapStatistics().used_heap_size;
  if (usedBytes > largeHeapBytes) growYoungGeneration();
  else if (usedBytes > mediumHeapBytes) growToMedium();
}

/**
 * Lets the young generation grow to 4 MiB. 1,000 rules took a fifth more processor time with 1 MiB, and 2,000 rules 30 MiB more
 * memory with 16. V8 quadruples the size at one of the next small collections; after that it stays.
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

/** The size of one of the two semi-spaces. */
function youngBytes(): number {
  const young = v8.getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return (young?.space_size ?? 0) / 2;
}

let collect: (() => void) | undefined;

/**
 * Runs a full collection: 10 ms, or 12 ms with 400,000 series. V8 flags apply to the whole process: if another thread clears this
 * one at the same moment, `gc` is missing, and the next call tries again.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    v8.setFlagsFromString("--expose-gc");
    const exposed = vm.runInNewContext("globalThis.gc") as (() => void) | undefined;
    // V8 checks stored code (boot.ts) against the flags: with this flag left on, stored code would be neither used nor written.
    v8.setFlagsFromString("--no-expose-gc");
    collect = exposed;
  }
  collect?.();
}
