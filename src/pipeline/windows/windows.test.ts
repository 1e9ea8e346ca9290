import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../sink.ts";
import { WindowAggregator } from "./windows.ts";

function layoutOf(uuid: string) {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid, gpu: "0", host: "pc" }));
  builder.add(gpu.temperature, labelSet({ uuid, gpu: "0", host: "pc", sensor: "edge" }));
  return builder.build();
}
const layouts = { A: layoutOf("A"), B: layoutOf("B") };

function at(second: number, watts?: number, uuid: "A" | "B" = "A"): Delivery {
  const writer = new FrameWriter(layouts[uuid], second * 1_000);
  if (watts !== undefined) writer.set(0, watts);
  writer.set(1, 40);
  const frame = writer.finish();
  return { frame, source: "log", tier: "stream", freshForMs: 5_000, devices: [] };
}

/** The second at which the window ends, then its values; undefined if absent. */
const brief = ({ frame }: Delivery) => [
  frame.timeMs / 1_000,
  ...[...frame.values].map((value, slot) =>
    frame.presence[slot] === presence.present ? value : undefined,
  ),
];

test("a tumbling window is given once a later frame shows that it is over", () => {
  const windows = new WindowAggregator({
    columns: ["board_power"],
    aggregates: ["min", "max", "avg", "last", "count", "sum"],
    overMs: 60_000,
  });
  expect([0, 20, 40].flatMap((second) => windows.take(at(second, second)))).toEqual([]);
  const [made] = windows.take(at(60, 100));
  expect(made && brief(made)).toEqual([60, 0, 40, 20, 40, 3, 60]);
  expect(made?.frame.layout.series.map(({ metric }) => metric.name)).toEqual(
    ["min", "max", "avg", "last", "count", "sum"].map((name) => `gpu_power_watts:${name}_1m`),
  );
  expect(made?.frame.layout.series[0]?.labels).toEqual(
    labelSet({ uuid: "A", gpu: "0", host: "pc" }),
  );
  expect(windows.end().map(brief)).toEqual([[120, 100, 100, 100, 100, 1, 100]]);
});

test("a sliding window moves by its step, and runs out over a gap", () => {
  const windows = new WindowAggregator({
    columns: ["board_power"],
    aggregates: ["sum", "count"],
    overMs: 30_000,
    everyMs: 10_000,
  });
  const made = [0, 10, 20, 30].flatMap((second) => windows.take(at(second, second + 1)));
  expect(made.map(brief)).toEqual([
    [10, 1, 1],
    [20, 12, 2],
    [30, 33, 3],
  ]);
  expect(windows.take(at(100, 7)).map(brief)).toEqual([
    [40, 63, 3],
    [50, 52, 2],
    [60, 31, 1],
  ]);
  expect(windows.end().map(brief)).toEqual([[110, 7, 1]]);
});

test("GPUs have windows of their own; a late frame goes in none and is counted", () => {
  const windows = new WindowAggregator({
    columns: ["board_power"],
    aggregates: ["sum"],
    overMs: 10_000,
  });
  windows.take(at(5, 1));
  windows.take(at(1, 10, "B"));
  expect(windows.take(at(10, 1)).map(brief)).toEqual([[10, 1]]);
  windows.take(at(4, 1_000));
  windows.take(at(9, 20, "B"));
  expect(windows.late).toBe(1);
  expect(windows.end().map(brief)).toEqual([
    [20, 1],
    [10, 30],
  ]);
});

test("what was absent in a whole window stays absent, and is counted as none", () => {
  const windows = new WindowAggregator({
    columns: ["gpu_temperature", "board_power"],
    aggregates: ["avg", "count"],
    overMs: 10_000,
  });
  windows.take(at(1));
  const [made] = windows.take(at(11));
  expect(made && brief(made)).toEqual([10, 40, 1, undefined, 0]);
  expect(made?.frame.layout.series[0]).toMatchObject({
    metric: { name: "gpu_temperature_celsius:avg_10s" },
    labels: labelSet({ uuid: "A", gpu: "0", host: "pc", sensor: "edge" }),
  });
});

test.each([
  [{ columns: ["nope"], overMs: 10_000 }, 'column "nope"'],
  [{ columns: ["board_power"], overMs: 10_000, everyMs: 3_000 }, "whole number of steps"],
  [{ columns: ["board_power"], overMs: 10_000, everyMs: 20_000 }, "whole number of steps"],
])("a window %o is refused", (options, says) => {
  expect(() => new WindowAggregator({ aggregates: ["avg"], ...options })).toThrow(says);
});
