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
import type { SampleWriter } from "../storage/history.ts";
import { fanOut } from "./fan-out.ts";
import { openStorage, type Storage } from "./storage.ts";

const nowMs = 1_800_000_000_000;
let dir: string;
let storage: Storage;
let sent: SampleBatch[];
let target: SampleWriter;

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), "gpulse-fan-out-"));
  storage = await openStorage({
    dir,
    retentionMs: 86_400_000,
    log: silentLog,
    nowMs: () => nowMs,
    version: "0",
  });
  sent = [];
  const sink: Sink = {
    name: "test",
    write: () => {},
    samples: (batch) => void sent.push(batch),
    close: () => {},
  };
  target = fanOut(storage.history, [sink]);
});
afterEach(async () => {
  await storage.close();
  rmSync(dir, { recursive: true, force: true });
});

const all = (): string[] => sent.flatMap(samplesOf);
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

test("sinks get a write before the sender is acknowledged", async () => {
  const writing = target.write(batchOf([[x, nowMs, 1]]));
  await writing;
  expect(all()).toEqual([`x{}@${nowMs}=1`]);
  const [series] = await storage.history.select([], nowMs, nowMs);
  expect(series).toBeDefined();
});

test("a repeated write goes to the sinks again: a kill may have lost the first", async () => {
  for (let count = 0; count < 2; count++) await target.write(batchOf([[x, nowMs, 1]]));
  expect(all()).toHaveLength(2);
});

test("sinks do not get what storage refuses", async () => {
  await target.write(batchOf([[x, 1, 1]]));
  expect(all()).toEqual([]);
});

test("sinks get frames with their stored labels, staleness markers and metadata", async () => {
  const extra = labelSet({ job: "gpulse" });
  const from = (made: Frame) => ({ frame: made, source: "s", tier: "fast" });
  await target.writeFrame(from(frame(nowMs, 250)), extra);
  await target.writeFrame(from(frame(nowMs + 1_000, undefined)), extra);
  await target.writeFrame(from(frame(nowMs + 2_000, 240)), extra);
  await target.endSource("s", nowMs + 3_000);
  const series = "gpu_power_watts{job=gpulse,uuid=A}";
  expect(all()).toEqual([
    `${series}@${nowMs}=250`,
    `${series}@${nowMs + 1_000}=end`,
    `${series}@${nowMs + 2_000}=240`,
    `${series}@${nowMs + 3_000}=end`,
  ]);
  expect(sent.flatMap(({ metadata }) => metadata).map(({ family }) => family)).toEqual([
    "gpu_power_watts",
  ]);
});
