import { expect, test } from "vitest";
import { BatchBuilder } from "../formats/samples/builder.ts";
import type { Frame } from "../model/frame.ts";
import { readHistogram } from "../model/histogram/notation.ts";
import { labelSet } from "../model/labels.ts";
import { presence } from "../model/presence.ts";
import { SampleFrames } from "./sample-frames.ts";

const labels = labelSet({ __name__: "latency_seconds", job: "llm" });

function frameOf(frames: SampleFrames, timeMs: number, sample: string | number) {
  const builder = new BatchBuilder();
  const series = builder.series(labels);
  if (sample === "stale") builder.addStale(series, timeMs);
  else if (typeof sample === "number") builder.add(series, timeMs, sample);
  else builder.addHistogram(series, timeMs, readHistogram(sample));
  return frames.frames(builder.finish());
}

const linesOf = (frame: Frame | undefined): string[] =>
  (frame?.layout.series ?? []).map(({ metric, suffix, labels: own }, slot) => {
    const le = own.find(([name]) => name === "le")?.[1];
    const value = frame?.presence[slot] === presence.present ? frame.values[slot] : "ended";
    return `${metric.name}${suffix}${le === undefined ? "" : ` ${le}`} = ${value}`;
  });

test("a native histogram goes on as a classic one", () => {
  const given =
    "{{schema:0 count:7 sum:9.5 z_bucket:1 z_bucket_w:0.001 buckets:[1 2] n_buckets:[3]}}";
  const { frames, histograms } = frameOf(new SampleFrames(), 1, given);
  expect(histograms).toBe(1);
  expect(linesOf(frames[0])).toEqual([
    "latency_seconds_bucket -0.5 = 3",
    "latency_seconds_bucket 0.001 = 4",
    "latency_seconds_bucket 1.0 = 5",
    "latency_seconds_bucket 2.0 = 7",
    "latency_seconds_bucket +Inf = 7",
    "latency_seconds_sum = 9.5",
    "latency_seconds_count = 7",
  ]);
});

test("custom buckets keep their bounds, also those that are empty", () => {
  const given = "{{schema:-53 count:3 sum:2 custom_values:[0.5 1 5] buckets:[2 0 0 1]}}";
  expect(linesOf(frameOf(new SampleFrames(), 1, given).frames[0])).toEqual([
    "latency_seconds_bucket 0.5 = 2",
    "latency_seconds_bucket 1.0 = 2",
    "latency_seconds_bucket 5.0 = 2",
    "latency_seconds_bucket +Inf = 3",
    "latency_seconds_sum = 2",
    "latency_seconds_count = 3",
  ]);
});

test("a bound stays while the resolution does, and ends with it", () => {
  const frames = new SampleFrames();
  frameOf(frames, 1, "{{schema:0 count:1 sum:1 offset:2 buckets:[1]}}");
  expect(linesOf(frameOf(frames, 2, "{{schema:0 count:3 sum:2 buckets:[3]}}").frames[0])).toEqual([
    "latency_seconds_bucket 1.0 = 3",
    "latency_seconds_bucket 4.0 = 3",
    "latency_seconds_bucket +Inf = 3",
    "latency_seconds_sum = 2",
    "latency_seconds_count = 3",
  ]);
  expect(
    linesOf(frameOf(frames, 3, "{{schema:-1 count:3 sum:2 buckets:[3]}}").frames[0]),
  ).toContain("latency_seconds_bucket 4.0 = ended");
});

test("finer buckets are merged to four for each doubling", () => {
  const fine = `{{schema:8 count:512 sum:1 offset:1 buckets:[${Array.from({ length: 512 }, () => 1).join(" ")}]}}`;
  const { frames, droppedHistograms } = frameOf(new SampleFrames(), 1, fine);
  expect(droppedHistograms).toBe(0);
  expect(linesOf(frames[0]).filter((line) => line.includes("_bucket"))).toHaveLength(8 + 1);
});

test("the end of a native series ends its classic ones; a number of the same name stays a number", () => {
  const frames = new SampleFrames();
  expect(linesOf(frameOf(frames, 1, 5).frames[0])).toEqual(["latency_seconds = 5"]);
  frameOf(frames, 2, "{{schema:0 count:1 sum:1 buckets:[1]}}");
  expect(linesOf(frameOf(frames, 3, "stale").frames[0])).toEqual([
    "latency_seconds_bucket 1.0 = ended",
    "latency_seconds_bucket +Inf = ended",
    "latency_seconds_sum = ended",
    "latency_seconds_count = ended",
  ]);
  expect(linesOf(frameOf(frames, 4, "stale").frames[0])).toEqual(["latency_seconds = ended"]);
});

test("a histogram of too many buckets is dropped and counted", () => {
  const bounds = Array.from({ length: 501 }, (_, at) => at + 1).join(" ");
  const given = `{{schema:-53 count:1 sum:1 custom_values:[${bounds}] buckets:[1]}}`;
  const { frames, droppedHistograms } = frameOf(new SampleFrames(), 1, given);
  expect([droppedHistograms, frames.flatMap(linesOf)]).toEqual([1, []]);
});
