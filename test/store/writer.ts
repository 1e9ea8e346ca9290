/**
 * The child of the crash test: appends batch after batch, says on standard output which ones are acknowledged, and seals and
 * merges all the while. It is killed at any moment. `writer DIR FIRST_BATCH WORKER_FILE`
 */
import { writeSync } from "node:fs";
import { systemCode } from "../../src/base/error.ts";
import { silentLog } from "../../src/base/log.ts";
import { openStore } from "../../src/storage/embedded/store.ts";
import {
  batchHistogram,
  batchLabels,
  sparseBatchMs,
  batchSeries,
  batchValue,
  briefLabels,
  briefRule,
  firstHistogramSeries,
} from "./batches.ts";

/** A pipe that is full because its reader is slow is tried again. */
function say(line: string): void {
  for (let done = false; !done;) {
    try {
      writeSync(1, `${line}\n`);
      done = true;
    } catch (thrown) {
      if (systemCode(thrown) !== "EAGAIN") throw thrown;
    }
  }
}

const [dir = "", first = "0", workerFile = ""] = process.argv.slice(2);

const store = await openStore({
  dir,
  retentionMs: 1e15,
  memoryBytes: 1_000_000,
  durability: "process",
  log: silentLog,
  nowMs: () => Date.now(),
  workerFile,
  segmentBytes: 65_536,
  sealLogBytes: 40_000,
  rollupRetentionMs: 1e15,
  rollEveryMs: 3_600_000,
  retentionRules: [briefRule],
  removalGraceMs: 0,
  manual: true,
});
const { lost } = store.stats();
if (lost.length > 0) say(`lost ${lost.join("; ")}`);
const appender = store.appender();
let upkeep = Promise.resolve();
for (let batch = Number(first); ; batch++) {
  for (let series = 0; series < batchSeries; series++) {
    const ref = appender.ref(batchLabels(batch, series));
    // Every tenth batch also brings something late.
    const lateMs = batch % 10 === 9 ? sparseBatchMs(batch) - 500 : undefined;
    if (series >= firstHistogramSeries) {
      appender.addHistogram(ref, sparseBatchMs(batch), batchHistogram(batch, series));
      if (lateMs !== undefined)
        appender.addHistogram(ref, lateMs, batchHistogram(batch, series, true));
    } else {
      appender.add(ref, sparseBatchMs(batch), batchValue(batch, series));
      if (lateMs !== undefined) appender.add(ref, lateMs, batchValue(batch, series) + 0.5);
    }
  }
  appender.add(appender.ref(briefLabels), sparseBatchMs(batch), batch);
  const { stored, duplicates } = appender.commit();
  const expected = batchSeries * (batch % 10 === 9 ? 2 : 1) + 1;
  if (stored + duplicates !== expected) say(`wrong ${batch}: ${stored} + ${duplicates}`);
  say(String(batch));
  if (batch % 20 === 0) upkeep = upkeep.then(() => store.maintain());
  if (batch % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
}
