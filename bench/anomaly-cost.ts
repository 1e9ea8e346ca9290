/**
 * The cost of the anomaly watch beside storing the same frames: `npx tsx bench/anomaly-cost.ts [GPUS]`, 2,000 by default, one
 * frame a second. Prints the processor time per second of frames, and the heap per GPU.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { AnomalyWatch } from "../src/lake/analyses/anomaly/watch.ts";
import { silentLog } from "../src/base/log.ts";
import { identityOf } from "../src/model/identity.ts";
import { tierIntervals } from "../src/pipeline/poller.ts";
import { Emitter } from "../src/sources/sim/emit/emitter.ts";
import { SimFleet } from "../src/sources/sim/fleet/fleet.ts";
import { loadScenario } from "../src/sources/sim/scenario/load.ts";
import { openStore } from "../src/storage/embedded/store.ts";
import { number, say } from "./hub-print.ts";

const gpus = Number(process.argv[2] ?? "2000");
const warmSeconds = 60;
const seconds = 180;
const startMs = Date.UTC(2026, 0, 5);

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const heapBytes = (): number => {
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
};

const dir = mkdtempSync(path.join(tmpdir(), "gpulse-cost-"));
let nowMs = startMs;
const store = await openStore({
  dir,
  retentionMs: 86_400_000,
  memoryBytes: 256 * 2 ** 20,
  durability: "process",
  log: silentLog,
  nowMs: () => nowMs,
  workerFile: false,
  manual: true,
});
const fleet = new SimFleet(loadScenario("default"), { seed: 1, gpus, model: undefined }, startMs);
const emitter = new Emitter(fleet, "lab");
const watch = new AnomalyWatch();
const every = tierIntervals(1_000);
const identity = identityOf("lab");
let [watchMs, storeMs, watchBytes] = [0, 0, 0];
for (let second = 0; second < warmSeconds + seconds; second++) {
  fleet.advanceTo(second * 1_000);
  nowMs = startMs + second * 1_000;
  for (const tier of ["static", "slow", "fast"] as const) {
    if ((second * 1_000) % every[tier] !== 0) continue;
    const frame = emitter.frame(tier, nowMs, (virtualMs) => virtualMs);
    const before = performance.now();
    watch.take({ frame });
    const between = performance.now();
    store.appendFrame({ frame, source: "sim", tier }, identity);
    if (second < warmSeconds) continue;
    watchMs += between - before;
    storeMs += performance.now() - between;
  }
}
const withWatch = heapBytes();
say(`${gpus} GPUs, a frame a second:`);
say(
  `  the watch   ${number(watchMs / seconds)} ms of processor time a second, ${number((watchMs * 1_000) / seconds / gpus)} µs a GPU`,
);
say(
  `  the store   ${number(storeMs / seconds)} ms for keeping the same frames; the watch takes ${number(watchMs / storeMs)} of that`,
);
watchBytes = measureHeap();
say(
  `  memory      ${number(watchBytes / gpus / 1_024)} KiB a GPU, of ${number(withWatch / 2 ** 20)} MiB in all`,
);
await store.close();
rmSync(dir, { recursive: true, force: true });

/** Runs another watch over a minute of the same frames and measures the growth of the heap. */
function measureHeap(): number {
  const again = new AnomalyWatch();
  const before = heapBytes();
  for (let second = 240; second < 300; second++) {
    fleet.advanceTo(second * 1_000);
    for (const tier of ["static", "slow", "fast"] as const)
      if ((second * 1_000) % every[tier] === 0)
        again.take({ frame: emitter.frame(tier, startMs + second * 1_000, (ms) => ms) });
  }
  return heapBytes() - before;
}
