// A full disk: the hub rejects writes with a retry status, keeps answering queries, and recovers by itself when there is
// space. The disk is a small tmpfs, so this needs root on Linux.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";

import { WriteClient, WriteRequests, type WriteResponse } from "../../bench/remote-write.ts";
import { startHub } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { waitUntil } from "../../engines/wait.ts";
import { labelSet } from "../../src/model/labels.ts";
import { batchMs } from "../store/batches.ts";
import { select } from "./select-all.ts";

const DISK_MB = 40;
const BALLAST_MB = 20;
const SERIES = 500;
const MOST_BATCHES = 20_000;

const cleanUp: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
});

/** Incompressible values, so that the disk fills quickly. */
const valueOf = (batch: number, series: number): number => Math.sin(batch * SERIES + series + 1);

const requests = new WriteRequests(
  Array.from({ length: SERIES }, (_, series) =>
    labelSet({ __name__: "kept", series: String(series) }),
  ),
);
const bodyOf = (batch: number): Buffer =>
  requests.encode(0, SERIES, [batchMs(batch)], (series) => valueOf(batch, series));

async function mountDisk(): Promise<string | undefined> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-hub-disk-"));
  cleanUp.push(async () => rmSync(folder, { recursive: true, force: true }));
  const args = ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "gpulse-test", folder];
  const mounted = await runProcess("mount", args).catch(() => undefined);
  if (mounted?.code !== 0) return undefined;
  cleanUp.push(() => runProcess("umount", [folder]));
  return folder;
}

test("a full disk refuses writes, serves reads, and goes on when there is room", async (context) => {
  const disk = process.platform === "linux" ? await mountDisk() : undefined;
  if (disk === undefined) return context.skip("needs root on Linux: a small disk is mounted");
  const ballast = path.join(disk, "ballast");
  writeFileSync(ballast, randomBytes(BALLAST_MB * 2 ** 20));
  const dataDir = path.join(disk, "data");
  let hub = await startHub({ dataDir });
  cleanUp.push(() => hub.kill());
  const client = new WriteClient(hub.url);

  let batch = 0;
  const fillUp = async (): Promise<WriteResponse> => {
    for (; batch < MOST_BATCHES; batch++) {
      const answer = await client.send(bodyOf(batch));
      if (answer.status !== 204) return answer;
    }
    throw new Error("the disk never ran full");
  };
  // After the first rejection the hub releases its reserved space; only then is the disk really full.
  let refusal = await fillUp();
  for (let refused = 0; refused < 5; refused++) {
    await sleep(100);
    const before = batch;
    refusal = await fillUp();
    if (batch > before) refused = 0;
  }
  expect(refusal.status).toBe(503);
  expect(refusal.text).toContain("full");
  expect(Number(refusal.retryAfter)).toBeGreaterThan(0);
  expect(batch).toBeGreaterThan(10);

  expect(await verifyBatches(hub.url, batch)).toBe(batch * SERIES);
  expect((await client.send(bodyOf(batch))).status).toBe(503);

  rmSync(ballast);
  await waitUntil({ what: "the hub to take writes again", timeoutMs: 30_000 }, async () =>
    (await client.send(bodyOf(batch))).status === 204 ? true : undefined,
  );
  batch++;
  const more = batch + 200;
  for (; batch < more; batch++) expect((await client.send(bodyOf(batch))).status).toBe(204);
  expect(await verifyBatches(hub.url, batch)).toBe(batch * SERIES);

  client.close();
  await hub.kill();
  hub = await startHub({ dataDir });
  expect(hub.process.output()).not.toMatch(/lost/);
  expect(await verifyBatches(hub.url, batch)).toBe(batch * SERIES);
});

/** Counts the stored batches; rejected ones may be missing, and every value must be exact. */
async function verifyBatches(url: string, batches: number): Promise<number> {
  let [count, wrong] = [0, 0];
  for (const { metric, values = [] } of await select(url, "kept[100y]")) {
    for (const [timeS, value] of values) {
      const batch = Math.round((timeS * 1000 - batchMs(0)) / 1000);
      if (batch >= batches || Number(value) !== valueOf(batch, Number(metric["series"]))) wrong++;
      count++;
    }
  }
  expect(wrong).toBe(0);
  return count;
}
