import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import type { Metadata, SampleBatch } from "../../samples/batch.ts";
import { BatchBuilder } from "../../samples/builder.ts";
import { samplesOf } from "../../../../test/fixtures/formats/samples-text.ts";
import { otlpBatch } from "../decode/batch.ts";
import { decodeOtlpJson } from "../decode/json.ts";
import { decodeOtlp } from "../decode/protobuf.ts";
import { encodeOtlpJson } from "./json.ts";
import { exportOf } from "./model.ts";
import { encodeOtlp } from "./protobuf.ts";

const reported = (family: string, type: string, unit = ""): [string, Metadata] => [
  family,
  { family, type, unit, help: `About ${family}.` },
];
const families = new Map([
  reported("gpu_power_watts", "gauge", "watts"),
  reported("gpu_energy_joules_total", "counter", "joules"),
  reported("wait_seconds", "histogram", "seconds"),
]);
const about = (name: string): Metadata | undefined => families.get(name);
const identity = { job: "gpulse", instance: "n:9400", host: "n" };
const timeMs = 1_794_710_418_438;

function histogram(builder: BatchBuilder, at: number, counts: Record<string, number>): void {
  const put = (name: string, labels: Record<string, string>, value: number): void =>
    builder.add(builder.series(labelSet({ __name__: name, ...identity, ...labels })), at, value);
  for (const [le, count] of Object.entries(counts)) put("wait_seconds_bucket", { le }, count);
  put("wait_seconds_sum", {}, 1.5);
  put("wait_seconds_count", {}, counts["+Inf"] ?? 0);
}

function batch(): SampleBatch {
  const builder = new BatchBuilder();
  const power = builder.series(labelSet({ __name__: "gpu_power_watts", ...identity, uuid: "A" }));
  builder.add(power, timeMs, 250.5);
  builder.add(power, timeMs + 1_000, Infinity);
  builder.addStale(power, timeMs + 2_000);
  const energy = { __name__: "gpu_energy_joules_total", ...identity, uuid: "Ä" };
  builder.add(builder.series(labelSet(energy)), timeMs, 2 ** 53);
  builder.add(builder.series(labelSet({ __name__: "other", job: "x" })), timeMs, 1);
  histogram(builder, timeMs, { "0.1": 3, "1": 3, "+Inf": 7 });
  return builder.finish();
}

test("resources, kinds and units are what OpenTelemetry calls them", () => {
  const [first, second] = exportOf(batch(), about);
  expect(first?.attributes).toEqual([
    ["host.name", "n"],
    ["service.instance.id", "n:9400"],
    ["service.name", "gpulse"],
  ]);
  expect(first?.metrics.map(({ name, kind, unit }) => [name, kind, unit])).toEqual([
    ["wait_seconds", "histogram", "s"],
    ["gpu_power_watts", "gauge", "W"],
    ["gpu_energy_joules_total", "sum", "J"],
  ]);
  expect(first?.metrics[0]?.points).toEqual([
    {
      attributes: [["host", "n"]],
      timeMs,
      histogram: { count: 7, sum: 1.5, counts: [3, 0, 4], bounds: [0.1, 1] },
    },
  ]);
  expect(second?.metrics.map(({ name, kind }) => [name, kind])).toEqual([["other", "gauge"]]);
});

test.each([
  ["protobuf", (given: SampleBatch) => decodeOtlp(encodeOtlp(exportOf(given, about), "1.2.3"))],
  ["JSON", (given: SampleBatch) => decodeOtlpJson(encodeOtlpJson(exportOf(given, about), "1.2.3"))],
])("%s comes back from our own receiver as the samples it was", (_name, thereAndBack) => {
  const given = batch();
  const back = otlpBatch(thereAndBack(given));
  expect(back).toMatchObject({ unspecified: 0, deltaSeries: [], malformed: 0 });
  const without = (text: string): boolean => !text.startsWith("target_info");
  const host = (text: string): string => text.replace(/host_name=n,/, "");
  expect(samplesOf(back.batch).filter(without).map(host).sort()).toEqual(samplesOf(given).sort());
});

test("what is no whole histogram goes as the series it came as", () => {
  const builder = new BatchBuilder();
  histogram(builder, timeMs, { "0.1": 3, "1": 5 });
  histogram(builder, timeMs + 1, { "0.1": 3, "+Inf": 2 });
  const given = builder.finish();
  const [resource] = exportOf(given, about);
  expect(resource?.metrics.map(({ kind }) => kind)).toEqual(["gauge", "gauge", "gauge"]);
  const points = resource?.metrics.reduce((sum, metric) => sum + metric.points.length, 0);
  expect(points).toBe(given.sampleCount);
});

test("a histogram that ends is one point without a value", () => {
  const builder = new BatchBuilder();
  for (const name of ["wait_seconds_sum", "wait_seconds_count"])
    builder.addStale(builder.series(labelSet({ __name__: name })), timeMs);
  const [resource] = exportOf(builder.finish(), about);
  expect(resource?.metrics[0]).toMatchObject({
    kind: "histogram",
    points: [{ attributes: [], timeMs }],
  });
});
