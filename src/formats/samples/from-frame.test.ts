import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import { isStale } from "../../model/stale.ts";
import type { SampleBatch } from "./batch.ts";
import { FrameSamples } from "./from-frame.ts";
import { readLabelBlock } from "./labels.ts";

const extra = labelSet({ job: "gpulse" });

function layoutOf(...gpus: string[]): Layout {
  const builder = new LayoutBuilder();
  for (const name of gpus) builder.add(gpu.power, labelSet({ gpu: name }));
  return builder.build();
}

function frame(layout: Layout, timeMs: number, values: readonly (number | undefined)[]): Frame {
  const writer = new FrameWriter(layout, timeMs);
  values.forEach((value, slot) =>
    value === undefined ? writer.absent(slot, "asleep") : writer.set(slot, value),
  );
  return writer.finish();
}

/** Formats samples as `gpu=value@time`, with `end` for a staleness marker. */
function reported({ bytes, labelStarts, labelEnds, ...batch }: SampleBatch): string[] {
  const words = new Uint32Array(batch.values.buffer, batch.values.byteOffset);
  return Array.from({ length: batch.sampleCount }, (_, at) => {
    const series = batch.sampleSeries[at] ?? 0;
    const labels = Object.fromEntries(
      readLabelBlock(bytes, labelStarts[series] ?? 0, labelEnds[series] ?? 0),
    );
    expect(labels).toMatchObject({ __name__: "gpu_power_watts", job: "gpulse" });
    return `${labels["gpu"]}=${isStale(words, at) ? "end" : batch.values[at]}@${batch.times[at]}`;
  });
}

const from = (made: Frame) => ({ frame: made, source: "sim", tier: "fast" });

test("a reading that is gone ends its series once, and begins again with a value", () => {
  const samples = new FrameSamples();
  const layout = layoutOf("a", "b");
  const take = (timeMs: number, values: readonly (number | undefined)[]) =>
    reported(samples.take(from(frame(layout, timeMs, values)), extra).batch);
  expect(take(1, [10, undefined])).toEqual(["a=10@1"]);
  expect(take(2, [undefined, 20])).toEqual(["b=20@2", "a=end@2"]);
  expect(take(3, [undefined, 21])).toEqual(["b=21@3"]);
  expect(take(4, [11, 22])).toEqual(["a=11@4", "b=22@4"]);
});

test("what a new layout no longer has ends, and what both have goes on", () => {
  const samples = new FrameSamples();
  samples.take(from(frame(layoutOf("a", "b"), 1, [10, 20])), extra);
  const next = samples.take(from(frame(layoutOf("b", "c"), 2, [21, 30])), extra);
  expect(reported(next.batch)).toEqual(["b=21@2", "c=30@2", "a=end@2"]);
});

test("an end that could not be sent is reported with the next frame, unless the reading is back", () => {
  const samples = new FrameSamples();
  const layout = layoutOf("a", "b");
  samples.take(from(frame(layout, 1, [10, 20])), extra);
  samples.take(from(frame(layout, 2, [undefined, undefined])), extra).undo();
  const next = samples.take(from(frame(layout, 3, [11, undefined])), extra);
  expect(reported(next.batch)).toEqual(["a=11@3", "b=end@3"]);
});

test("a source that is gone for good ends all it had, and no other does", () => {
  const samples = new FrameSamples();
  samples.take(from(frame(layoutOf("a"), 1, [10])), extra);
  samples.take({ ...from(frame(layoutOf("z"), 1, [1])), source: "other" }, extra);
  const gone = samples.end("sim", 5);
  expect(reported(gone.batch)).toEqual(["a=end@5"]);
  gone.undo();
  expect(reported(samples.end("sim", 6).batch)).toEqual(["a=end@6"]);
  expect(reported(samples.end("sim", 7).batch)).toEqual([]);
});

test("frames of a stream take turns and end nothing of each other's, until the source does", () => {
  const samples = new FrameSamples();
  const [one, other] = [layoutOf("a", "b"), layoutOf("c")];
  const take = (layout: Layout, timeMs: number, values: readonly (number | undefined)[]) =>
    reported(samples.take({ ...from(frame(layout, timeMs, values)), tier: "stream" }, extra).batch);
  expect(take(one, 1, [10, 20])).toEqual(["a=10@1", "b=20@1"]);
  expect(take(other, 1, [30])).toEqual(["c=30@1"]);
  expect(take(one, 2, [11, undefined])).toEqual(["a=11@2", "b=end@2"]);
  expect(take(one, 3, [12, undefined])).toEqual(["a=12@3"]);
  expect(reported(samples.end("sim", 9).batch).sort()).toEqual(["a=end@9", "c=end@9"]);
});
