import { expect, test } from "vitest";
import { catalogue, findMetric, gpu } from "./catalogue/index.ts";
import { FrameWriter, roundTo } from "./frame.ts";
import { labelKey, labelSet, withLabels } from "./labels.ts";
import { LayoutBuilder } from "./layout.ts";
import { presence } from "./presence.ts";

test("every metric has a name of its own, help that is a sentence, and a resolution", () => {
  expect(new Set(catalogue.map(({ name }) => name)).size).toBe(catalogue.length);
  for (const metric of catalogue) {
    expect(metric.name, metric.name).toMatch(/^(gpuz?|ml|host|gpulse|process|nodejs)_[a-z0-9_]+$/);
    expect(metric.help, metric.name).toMatch(/^[A-Z0-9].*\.$/);
    expect(metric.resolution, metric.name).toBeGreaterThan(0);
    expect(metric.name.endsWith("_total"), metric.name).toBe(metric.kind === "counter");
    expect(metric.kind === "histogram", metric.name).toBe(metric.buckets !== undefined);
  }
});

test("a metric with a unit carries it in its name", () => {
  for (const { name, unit } of catalogue) {
    if (unit !== "none") expect(name, name).toMatch(new RegExp(`_${unit}(_total)?$`));
  }
});

test("metrics are found by name", () => {
  expect(findMetric("gpu_power_watts")).toBe(gpu.power);
  expect(findMetric("gpu_power")).toBeUndefined();
});

test("label sets are sorted, leave empty values out, and have one key", () => {
  expect(labelSet({ b: "2", a: "1", c: "", d: undefined })).toEqual([
    ["a", "1"],
    ["b", "2"],
  ]);
  expect(withLabels(labelSet({ a: "1", b: "2" }), { b: "3" })).toEqual(
    labelSet({ a: "1", b: "3" }),
  );
  expect(labelKey(labelSet({ a: "1", b: "2" }))).toBe(labelKey(labelSet({ b: "2", a: "1" })));
  expect(labelKey(labelSet({ a: "1b", c: "2" }))).not.toBe(labelKey(labelSet({ a: "1", bc: "2" })));
});

test("a layout refuses the same series twice", () => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "A" }));
  expect(() => builder.add(gpu.power, labelSet({ uuid: "A" }))).toThrow("BUG");
});

test("a reading nobody made is failed, an implausible one too, and neither is 0", () => {
  const builder = new LayoutBuilder();
  const power = builder.add(gpu.power, labelSet({ uuid: "A" }));
  const hot = builder.add(gpu.temperature, labelSet({ uuid: "A", sensor: "edge" }));
  const sentinel = builder.add(gpu.memoryUsed, labelSet({ uuid: "A" }));
  const writer = new FrameWriter(builder.build(), 0);
  writer.set(hot, 644_245_923);
  writer.set(sentinel, 2 ** 64 - 1);
  const frame = writer.finish();
  expect([power, hot, sentinel].map((slot) => frame.presence[slot])).toEqual([
    presence.failed,
    presence.failed,
    presence.failed,
  ]);
});

test.each([
  [0.30000000000000004, 0.1, 0.3],
  [83.2614, 0.001, 83.261],
  [-0.0001, 0.1, 0],
  [1_485_000_001.4, 1, 1_485_000_001],
  [7, 15, 0],
  [8, 15, 15],
])("%d at a resolution of %d is %d", (value, resolution, rounded) =>
  expect(roundTo(value, resolution)).toBe(rounded),
);

test("not-a-number is never a reading", () => {
  const builder = new LayoutBuilder();
  const slot = builder.add(gpu.power, labelSet({ uuid: "A" }));
  const writer = new FrameWriter(builder.build(), 0);
  writer.set(slot, Number.NaN);
  expect(writer.finish().presence[slot]).toBe(presence.failed);
});
