// Runs one target's thread and watches it: a thread that hangs, or runs out of memory, is a finding like any other.

import { Worker } from "node:worker_threads";

import { type FuzzJob, type FuzzOutcome, type FuzzReport, sharedHeadBytes } from "./shared.ts";

/** In processor time, so that a busy machine does not look like a hang; the time is shared by all concurrent threads. */
const hangCpuMs = 60_000;
/** If no processor time is used at all: a promise that never settles. */
const hangMs = 600_000;
const lookEveryMs = 250;
const heapLimitMegabytes = 768;
const inputBytes = 1 << 18;
const mostDeaths = 3;

export interface FuzzWatchResult {
  readonly outcome: FuzzOutcome;
  readonly crashes: number;
  readonly hangs: number;
}

export interface FuzzFinding {
  readonly kind: "crash" | "hang";
  readonly says: string;
  readonly bytes: Uint8Array;
}

type Ending = { readonly outcome: FuzzOutcome } | { readonly kind: "crash" | "hang"; says: string };

/** Calls `found` with each finding as it occurs. */
export async function watch(
  workerFile: string,
  given: Omit<FuzzJob, "shared">,
  found: (finding: FuzzFinding) => void,
): Promise<FuzzWatchResult> {
  const sum = { inputs: 0, crashes: 0, hangs: 0 };
  const tell = (finding: FuzzFinding): void => {
    sum[finding.kind === "hang" || finding.says.includes("slow:") ? "hangs" : "crashes"]++;
    found(finding);
  };
  for (let death = 0; ; death++) {
    const shared = new SharedArrayBuffer(sharedHeadBytes + inputBytes);
    const head = new Int32Array(shared, 0, 2);
    const left = { ...given, inputs: given.inputs - sum.inputs, seed: given.seed + death };
    const ending = await runWorker(workerFile, { ...left, shared }, head, tell);
    if ("outcome" in ending) {
      const inputs = sum.inputs + ending.outcome.inputs;
      return { outcome: { ...ending.outcome, inputs }, crashes: sum.crashes, hangs: sum.hangs };
    }
    sum.inputs += head[0] ?? 0;
    const bytes = Uint8Array.from(new Uint8Array(shared, sharedHeadBytes, head[1] ?? 0));
    tell({ ...ending, bytes });
    if (death + 1 >= mostDeaths || sum.inputs >= given.inputs) {
      const none = { reached: 0, newlyReached: 0, corpus: [], peakHeapBytes: 0, grownBytes: 0 };
      return { outcome: { inputs: sum.inputs, ...none }, crashes: sum.crashes, hangs: sum.hangs };
    }
  }
}

function runWorker(
  file: string,
  work: FuzzJob,
  head: Int32Array,
  tell: (finding: FuzzFinding) => void,
): Promise<Ending> {
  return new Promise((resolve) => {
    const worker = new Worker(file, {
      workerData: work,
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMegabytes },
      stdout: true,
      stderr: true,
    });
    let [last, sinceMs, sinceCpuMs] = [0, performance.now(), usedMs()];
    const end = (ending: Ending): void => {
      clearInterval(timer);
      void worker.terminate().then(() => resolve(ending));
    };
    const timer = setInterval(() => {
      const now = Atomics.load(head, 0);
      const [waitedMs, workedMs] = [performance.now() - sinceMs, usedMs() - sinceCpuMs];
      if (now !== last) [last, sinceMs, sinceCpuMs] = [now, performance.now(), usedMs()];
      // Zero means the start: the bundle is still loading.
      else if (now > 0 && (workedMs > hangCpuMs || waitedMs > hangMs))
        end({ kind: "hang", says: `no answer within ${Math.round(waitedMs / 1_000)} s` });
    }, lookEveryMs);
    worker.on("message", (report: FuzzReport) => {
      // Shrinking a finding takes time too.
      [sinceMs, sinceCpuMs] = [performance.now(), usedMs()];
      if (report.kind === "done") end({ outcome: report.outcome });
      else tell({ kind: "crash", says: report.says, bytes: report.bytes });
    });
    worker.once("error", (error) => end({ kind: "crash", says: error.stack ?? String(error) }));
  });
}

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
