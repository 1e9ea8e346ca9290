import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SampleBatch } from "../formats/samples/batch.ts";
import { silentLog } from "../base/log.ts";
import { gpu } from "../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { labelSet } from "../model/labels.ts";
import { LayoutBuilder } from "../model/layout.ts";
import type { Sink } from "../pipeline/sink.ts";
import { batchOf, samplesOf } from "../../test/fixtures/formats/samples-text.ts";
import { ForwardingHistory } from "./forward.ts";
import { openStorage, type Storage } from "./storage.ts";

const nowMs = 1_800_000_000_000;
let dir: string;
let storage: Storage;
let handed: SampleBatch[];
let history: ForwardingHistory;

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), "gpulse-forward-"));
  storage = await openStorage({
    dir,
    retentionMs: 86_400_000,
    log: silentLog,
    nowMs: () => nowMs,
    version: "0",
  });
  handed = [];
  const sink: Sink = {
    name: "test",
    write: () => {},
    samples: (batch) => void handed.push(batch),
    close: () => {},
  };
  history = new ForwardingHistory(storage.history, [sink]);
});
afterEach(async () => {
  await storage.close();
  rmSync(dir, { recursive: true, force: true });
});

const all = (): string[] => handed.flatMap(samplesOf);
const x = labelSet({ __name__: "x" });

function frame(timeMs: number, value: number | undefined): Frame {
  const writer = new FrameWriter(layout, timeMs);
  if (value !== undefined) writer.set(0, value);
  return writer.finish();
}
const layout = (() => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "A" }));
  return builder.build();
})();

test("what is written is handed on before the sender is answered", async () => {
  const writing = history.write(batchOf([[x, nowMs, 1]]));
  await writing;
  expect(all()).toEqual([`x{}@${nowMs}=1`]);
  const [series] = await history.select([], nowMs, nowMs);
  expect(series).toBeDefined();
});

test("a repeated write is handed on again: its first may have been cut off by a kill", async () => {
  for (let count = 0; count < 2; count++) await history.write(batchOf([[x, nowMs, 1]]));
  expect(all()).toHaveLength(2);
});

test("what the history refuses is not handed on", async () => {
  await history.write(batchOf([[x, 1, 1]]));
  expect(all()).toEqual([]);
});

test("frames are handed on under the labels they are kept under, with the ends of series and their metadata", async () => {
  const extra = labelSet({ job: "gpulse" });
  const from = (made: Frame) => ({ frame: made, source: "s", tier: "fast" });
  await history.frames(from(frame(nowMs, 250)), extra);
  await history.frames(from(frame(nowMs + 1_000, undefined)), extra);
  await history.frames(from(frame(nowMs + 2_000, 240)), extra);
  await history.ended("s", nowMs + 3_000);
  const series = "gpu_power_watts{job=gpulse,uuid=A}";
  expect(all()).toEqual([
    `${series}@${nowMs}=250`,
    `${series}@${nowMs + 1_000}=end`,
    `${series}@${nowMs + 2_000}=240`,
    `${series}@${nowMs + 3_000}=end`,
  ]);
  expect(handed.flatMap(({ metadata }) => metadata).map(({ family }) => family)).toEqual([
    "gpu_power_watts",
  ]);
});
