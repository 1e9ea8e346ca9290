import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lakeOptions, power } from "../../test/fixtures/lake/frames.ts";
import { FolderFiles } from "../net/objects/folder.ts";
import { LakeWriter } from "./writer.ts";

const day = Date.UTC(2026, 0, 15);
const { signal } = new AbortController();
let folder = "";

beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "gpulse-writer-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

test("the encoder's thread starts while many rows come, once between two flushes, and not for a few", async () => {
  const options = lakeOptions(new FolderFiles(folder), day);
  let prepared = 0;
  const workers = { ...options.workers, prepare: () => void prepared++ };
  const writer = new LakeWriter({ ...options, workers });
  const { frame, devices, host } = power(day, 1);
  const take = async (frames: number): Promise<void> => {
    for (let at = 0; at < frames; at++)
      await writer.take(
        { frame: { ...frame, timeMs: day + at }, devices, host },
        undefined,
        signal,
      );
  };
  await take(9_999);
  expect(prepared).toBe(0);
  await writer.flush(signal);
  await take(9_999);
  expect(prepared).toBe(0);
  await take(1);
  expect(prepared).toBe(1);
  await take(5_000);
  expect(prepared).toBe(1);
});
