import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { collectGarbage } from "../../../base/heap.ts";
import { type BlockJob, openBlockWorker } from "./job.ts";

test("a job that is done is not held in memory until the next: it carries a whole head", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-worker-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "worker.mjs");
  writeFileSync(
    file,
    `import { parentPort } from "node:worker_threads";
     parentPort.on("message", () => parentPort.postMessage({ done: {} }));`,
  );
  const workers = openBlockWorker(file);
  onTestFinished(() => workers.close());
  const runOne = async (): Promise<WeakRef<BlockJob>> => {
    const job = { order: { head: new Uint8Array(1_000) } } as unknown as BlockJob;
    await workers.run(job);
    return new WeakRef(job);
  };
  const done = await runOne();
  for (let turn = 0; turn < 20 && done.deref() !== undefined; turn++) {
    await setImmediate();
    collectGarbage();
  }
  expect(done.deref()).toBeUndefined();
});
