import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { collectRows, seenDevices } from "./collect.ts";
import { delivery, first, second } from "../../../test/fixtures/view/live.ts";
import { type ColumnKey, columnKeys, type FactKey } from "./protocol.ts";

const rowOf = (deliveries: readonly Delivery[], uuid = first.uuid, nowMs = 10_000) => {
  const wanted = [first, second]
    .filter((device) => device.uuid === uuid)
    .map((device) => ({ device, source: "test", host: "lab" }));
  const [found] = collectRows(deliveries, wanted, nowMs, "lab");
  if (found === undefined) throw new Error("BUG: no row for a wanted uuid");
  return {
    ...found.row,
    column: (key: ColumnKey) => found.row.values[columnKeys.indexOf(key)],
    fact: (key: FactKey) => found.facts[key],
  };
};

test("a reading travels as its number, a true zero included", () => {
  const row = rowOf([
    delivery("fast", 10_000, [
      [first, gpu.utilization, 0],
      [first, gpu.power, 612.5],
    ]),
  ]);
  expect([row.column("utilization"), row.column("power")]).toEqual([0, 612.5]);
});

test.each(["unsupported", "denied", "asleep", "failed"] as const)(
  "a reading that is %s travels as that word",
  (reason) => {
    expect(rowOf([delivery("fast", 10_000, [[first, gpu.power, reason]])]).column("power")).toBe(
      reason,
    );
  },
);

test("a reading the device's frames never hold is unsupported", () => {
  expect(rowOf([delivery("fast", 10_000, [[first, gpu.power, 100]])]).column("fan")).toBe(
    "unsupported",
  );
});

test("a reading of a tier that has not come is stale, not unsupported", () => {
  expect(rowOf([delivery("fast", 10_000, [[first, gpu.power, 100]])]).column("powerLimit")).toBe(
    "stale",
  );
});

test("a device nobody delivers has a row of stale readings", () => {
  const row = rowOf([delivery("fast", 10_000, [[first, gpu.power, 100]])], second.uuid);
  expect(new Set(row.values)).toEqual(new Set(["stale"]));
  expect(row.throttle).toBe("stale");
});

test("traffic over several links is added up, and a link that two sources report counts once", () => {
  const traffic = (link: string, value: number) =>
    [first, gpu.interconnectBytes, value, { link, direction: "receive" }] as const;
  const row = rowOf([
    delivery("slow", 10_000, [traffic("0", 1_024), traffic("1", 2_048)]),
    delivery("slow", 10_000, [traffic("1", 2_048)]),
  ]);
  expect(row.column("interconnectRxTotal")).toBe(3_072);
  expect(row.column("interconnectTxTotal")).toBe("unsupported");
});

test("the video engine is one reading under both of its names", () => {
  const video = [first, gpu.videoUtilization, 0.25] as const;
  const engine = [first, gpu.engineUtilization, 0.5, { engine: "video" }] as const;
  const render = [first, gpu.engineUtilization, 0.9, { engine: "render" }] as const;
  expect(rowOf([delivery("fast", 10_000, [video])]).column("video")).toBe(0.25);
  expect(rowOf([delivery("slow", 10_000, [engine, render])]).column("video")).toBe(0.5);
});

test("a series that ended is no longer there", () => {
  expect(rowOf([delivery("fast", 10_000, [[first, gpu.power, "ended"]])]).column("power")).toBe(
    "unsupported",
  );
});

test("readings go to the GPU whose uuid they carry", () => {
  const both = [
    delivery("fast", 10_000, [
      [first, gpu.power, 100],
      [second, gpu.power, 200],
    ]),
  ];
  expect([
    rowOf(both, first.uuid).column("power"),
    rowOf(both, second.uuid).column("power"),
  ]).toEqual([100, 200]);
});

test("sensors are distinguished by their label", () => {
  const row = rowOf([
    delivery("fast", 10_000, [
      [first, gpu.temperature, 70, { sensor: "hotspot" }],
      [first, gpu.temperature, 61, { sensor: "edge" }],
    ]),
  ]);
  expect([row.column("temperatureEdge"), row.column("temperatureHotspot")]).toEqual([61, 70]);
});

test("of several fans the fastest is shown, and an absent one does not hide it", () => {
  const row = rowOf([
    delivery("fast", 10_000, [
      [first, gpu.fanSpeed, 0.3, { fan: "1" }],
      [first, gpu.fanSpeed, 0.6, { fan: "2" }],
      [first, gpu.fanSpeed, "failed", { fan: "3" }],
    ]),
  ]);
  expect(row.column("fan")).toBe(0.6);
});

test("active throttle reasons are listed by name", () => {
  const row = rowOf([
    delivery("fast", 10_000, [
      [first, gpu.throttleActive, 1, { reason: "power_cap" }],
      [first, gpu.throttleActive, 0, { reason: "thermal" }],
    ]),
  ]);
  expect(row.throttle).toEqual(["power_cap"]);
});

test("throttling nobody could read is not the same as none", () => {
  expect(
    rowOf([
      delivery("fast", 10_000, [[first, gpu.throttleActive, "denied", { reason: "thermal" }]]),
    ]).throttle,
  ).toBe("denied");
});

test("the job and its user come from the owner series", () => {
  const row = rowOf([
    delivery("slow", 9_000, [[first, gpu.ownerInfo, 1, { workload: "llm-7b", user: "ada" }]]),
  ]);
  expect([row.job, row.user]).toEqual(["llm-7b", "ada"]);
});

test("an XID keeps its number, count and last time", () => {
  const row = rowOf([
    delivery("slow", 9_000, [
      [first, gpu.xidErrors, 2, { xid: "79" }],
      [first, gpu.xidLast, 8, { xid: "79" }],
    ]),
  ]);
  expect(row.xids).toEqual([{ xid: "79", count: 2, lastMs: 8_000 }]);
});

test("ages are reported by tier", () => {
  const row = rowOf([
    delivery("fast", 9_500, [[first, gpu.power, 100]]),
    delivery("slow", 4_000, [[first, gpu.powerLimit, 700]]),
  ]);
  expect(row.ageMs).toEqual({ fast: 500, slow: 6_000 });
});

test("limits travel as facts of the device", () => {
  const row = rowOf([
    delivery("static", 0, [[first, gpu.temperatureLimit, 92, { limit: "slowdown" }]]),
  ]);
  expect([row.fact("limitSlowdown"), row.fact("limitTarget")]).toEqual([92, "unsupported"]);
});

test("a stream's readings are judged by their own metric's tier", () => {
  const row = rowOf([delivery("stream", 10_000, [[first, gpu.powerLimit, 700]])]);
  expect([row.column("powerLimit"), row.column("power")]).toEqual([700, "stale"]);
});

test("devices keep the order sources list them in, each once", () => {
  const deliveries = [
    delivery("fast", 0, [], [second, first]),
    delivery("slow", 0, [], [first, second]),
  ];
  expect([...seenDevices(deliveries, "lab").values()].map(({ device }) => device)).toEqual([
    second,
    first,
  ]);
});
