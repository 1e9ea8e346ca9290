// Loaded into a hub before its own code (`--import`): records its event loop's delay and its garbage collections, and on SIGUSR2
// runs one full collection and writes the values to the file named by HUB_WATCH. Never part of gpulse.

import { renameSync, writeFileSync } from "node:fs";
import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import v8 from "node:v8";
import vm from "node:vm";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const tookMs: { major: number[]; minor: number[] } = { major: [], minor: [] };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as PerformanceEntry & { detail: { kind: number } }).detail;
      const isMajor = kind === constants.NODE_PERFORMANCE_GC_MAJOR;
      (isMajor ? tookMs.major : tookMs.minor).push(entry.duration);
    }
  }).observe({ entryTypes: ["gc"] });
  process.on("SIGUSR2", () => {
    v8.setFlagsFromString("--expose-gc");
    const collect = vm.runInNewContext("gc") as () => void;
    const file = process.env["HUB_WATCH"] ?? "";
    const delayMs = { p99: delay.percentile(99) / 1e6, most: delay.max / 1e6 };
    const before = { major: [...tookMs.major], minor: [...tookMs.minor] };
    const memory = process.memoryUsage();
    const began = performance.now();
    collect();
    const fullMs = performance.now() - began;
    writeFileSync(`${file}.tmp`, JSON.stringify({ delayMs, ...before, memory, fullMs }));
    renameSync(`${file}.tmp`, file);
  });
}
