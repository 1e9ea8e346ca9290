import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import { gpu, host, type MetricEntry } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../sink.ts";
import { createColumns } from "./columns.ts";
import { parseCondition, parseQuantity } from "./expression.ts";
import { createProcessing, streamSchema } from "./options.ts";
import { createTags } from "./tags.ts";
import { thresholdsFile, thresholdsOf } from "./thresholds.ts";

type Reading = readonly [MetricEntry, Readonly<Record<string, string>>, number | undefined];

const ofGpu = (uuid: string, extra: Record<string, string> = {}) => ({
  uuid,
  gpu: "0",
  host: "pc",
  ...extra,
});

function delivery(readings: readonly Reading[], timeMs = 0, tags?: Delivery["tags"]): Delivery {
  const builder = new LayoutBuilder();
  for (const [metric, labels] of readings) builder.add(metric, labelSet(labels));
  const writer = new FrameWriter(builder.build(), timeMs);
  readings.forEach(([, , value], slot) =>
    value === undefined ? writer.absent(slot, "asleep") : writer.set(slot, value),
  );
  return {
    frame: writer.finish(),
    source: "test",
    tier: "stream",
    freshForMs: 5_000,
    devices: [],
    ...(tags !== undefined && { tags }),
  };
}

const edge = (uuid: string, celsius: number | undefined): Reading => [
  gpu.temperature,
  ofGpu(uuid, { sensor: "edge" }),
  celsius,
];
const power = (uuid: string, watts: number | undefined): Reading => [gpu.power, ofGpu(uuid), watts];

test.each<[string, Record<string, number>, boolean]>([
  ["gpu_temperature > 90 or board_power > 350", { gpu_temperature_celsius_edge: 91 }, true],
  ["gpu_temperature > 90 or board_power > 350", { gpu_power_watts: 351 }, true],
  ["gpu_temperature > 90 or board_power > 350", { gpu_power_watts: 350 }, false],
  ["gpu_temperature > 90 or board_power > 350", {}, false],
  ["gpu_load > 95", { gpu_utilization_ratio: 0.96 }, true],
  [
    "gpu_utilization_ratio >= 0.5 and gpu_utilization_ratio <= 0.5",
    { gpu_utilization_ratio: 0.5 },
    true,
  ],
  ["not board_power > 10", { gpu_power_watts: 5 }, true],
  ["not board_power > 10", {}, true],
  ["not not board_power > 10", { gpu_power_watts: 11 }, true],
  ["board_power < 10 and not (gpu_load > 1 or gpu_load == 0)", { gpu_power_watts: 1 }, true],
  ["2 + 3 * 4 == 14 and (2 + 3) * 4 == 20", {}, true],
  ["-board_power < -10", { gpu_power_watts: 11 }, true],
  ["8 / 4 / 2 == 1 and 8 - 4 - 2 == 2", {}, true],
  ["board_power / gpu_load > 0", { gpu_power_watts: 10, gpu_utilization_ratio: 0 }, false],
  ["board_power != 3", {}, false],
  ["8_pin_1_power > 1e2", { gpu_rail_power_watts_8pin_1: 101 }, true],
  ["gpu_load > 1 OR board_power > 1 AND board_power > 5", { gpu_power_watts: 2 }, false],
])("%s with %o holds: %s", (text, values, holds) => {
  expect(parseCondition(text).holds((column) => values[column])).toBe(holds);
});

test.each([
  ["gpu_temprature > 90", 1, 'Did you mean "gpu_temperature"'],
  ["gpu_temperature >", 18, "ends too early"],
  ["gpu_temperature > 90 board_power", 22, '"board_power" is not expected'],
  ["(gpu_temperature > 90", 22, '")" is missing'],
  ["gpu_temperature", 1, "condition"],
  ["gpu_temperature and board_power > 1", 1, "compare it"],
  ["board_power > 1 and gpu_load", 21, "compare it"],
  ["gpu_temperature > 90; x", 21, '";" is not understood'],
  ["1 < board_power < 3", 17, "Two comparisons"],
  ["(board_power > 1) + 2 > 1", 1, "condition"],
  ["process > 1", 1, "no column"],
  ["process.exit()", 8, "is not understood"],
  ["", 1, "ends too early"],
  ["12abc > 1", 1, "is not understood"],
])("%s is refused at character %i", (text, at, says) => {
  const failure = (() => {
    try {
      return parseCondition(text);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(failure).toBeInstanceOf(GpulseError);
  expect((failure as GpulseError).message).toContain(says);
  if (says !== "condition") expect((failure as GpulseError).message).toContain(`(character ${at})`);
});

test("an expression of any depth or length is refused in one sentence, not with a broken stack", () => {
  expect(() => parseQuantity(`${"(".repeat(500)}1${")".repeat(500)}`)).toThrow(/nested too deep/);
  expect(() => parseQuantity(`${"-".repeat(1_500)}1`)).toThrow(/nested too deep/);
  expect(() => parseQuantity("1+".repeat(5_000))).toThrow(/at most 2000/);
});

test("the usual thresholds tag each GPU for itself; at a limit there is no tag", () => {
  const tag = createTags({ thresholds: thresholdsOf() });
  const { tags } = tag(
    delivery([
      edge("A", 91),
      power("A", 351),
      [gpu.utilization, ofGpu("A"), 0.96],
      edge("B", 85),
      power("B", 300),
      [gpu.utilization, ofGpu("B"), 0.95],
      edge("C", 86),
      power("C", undefined),
    ]),
  );
  expect(Object.fromEntries(tags ?? [])).toEqual({
    A: [
      "high_gpu_temperature",
      "high_power",
      "high_load",
      "critical_temperature",
      "critical_power",
    ],
    C: ["high_gpu_temperature"],
  });
});

test("a processor that is hot tags the GPUs of its host alone", () => {
  const tag = createTags({ thresholds: thresholdsOf() });
  const hot: Reading = [host.cpuTemperature, { host: "pc", sensor: "package" }, 81];
  const elsewhere: Reading = [gpu.power, { uuid: "B", gpu: "0", host: "other" }, 1];
  const { tags } = tag(delivery([hot, power("A", 1), elsewhere]));
  expect(Object.fromEntries(tags ?? [])).toEqual({ A: ["high_cpu_temperature"] });
});

test("limits can be moved and left out, and what was found before stays", () => {
  const checked = checkValue(streamSchema, {
    thresholds: { high_power: 50, critical_power: "off" },
  });
  if (!checked.ok) throw new Error(checked.problems[0]?.sentence);
  const [tag] = createProcessing(checked.value).transforms;
  const given = delivery([power("A", 400)], 0, new Map([["A", ["seen_before", "high_power"]]]));
  expect(tag?.(given).tags?.get("A")).toEqual(["seen_before", "high_power"]);
  const quiet = delivery([power("A", 1)]);
  expect(tag?.(quiet), "nothing to say is nothing to copy").toBe(quiet);
});

test("a column of one's own is reckoned from others, may be used further, and is absent where an input is", () => {
  const checked = checkValue(streamSchema, {
    columns: { heat: "gpu_temperature - 20", heat_per_watt: "heat / board_power" },
    tags: { inefficient: "heat_per_watt > 0.5" },
  });
  if (!checked.ok) throw new Error(checked.problems[0]?.sentence);
  const { transforms } = createProcessing(checked.value);
  const out = transforms.reduce(
    (given, transform) => transform(given),
    delivery([edge("A", 80), power("A", 100), edge("B", 80), power("B", undefined)]),
  );
  const own = out.frame.layout.series.flatMap(({ metric, labels }, slot) =>
    metric.name.startsWith("heat")
      ? [[metric.name, labels[2]?.[1], out.frame.presence[slot], out.frame.values[slot]]]
      : [],
  );
  expect(own).toEqual([
    ["heat", "A", presence.present, 60],
    ["heat_per_watt", "A", presence.present, 0.6],
    ["heat", "B", presence.present, 60],
    ["heat_per_watt", "B", presence.unsupported, 0],
  ]);
  expect(out.tags?.get("A")).toEqual(["inefficient"]);
  expect(out.tags?.get("B")).toBeUndefined();
});

test.each([
  [{ gpu_load: "board_power" }, "already"],
  [{ gpu_power_watts: "board_power" }, "already"],
  [{ "Bad Name": "board_power" }, "not a valid column name"],
  [{ x: "board_power > 3" }, "a number is needed"],
  [{ x: "y + 1", y: "board_power" }, 'no column "y"'],
])("columns %o are refused", (given, says) => {
  expect(() => createColumns(given as unknown as Record<string, string>)).toThrow(says);
});

test("a value unlike the ones before is tagged, noise and slow change are not", () => {
  const tag = createTags({
    thresholds: [],
    unusual: { columns: ["gpu_temperature"], frames: 60, score: 8 },
  });
  const tagged: number[] = [];
  for (let second = 0; second < 400; second++) {
    const celsius = 50 + second / 20 + (second % 7) * 0.3 + (second === 300 ? 30 : 0);
    if (tag(delivery([edge("A", celsius)])).tags !== undefined) tagged.push(second);
  }
  expect(tagged).toEqual([300]);
});

test("the Spark job's thresholds are those of the stream", () => {
  expect(readFileSync("deploy/spark/thresholds.json", "utf8")).toBe(thresholdsFile());
});
