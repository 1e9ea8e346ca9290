import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { delivery, first, second } from "../../../test/fixtures/view/live.ts";
import { LiveFleet } from "./fleet.ts";
import { SCHEMA, columnKeys } from "./protocol.ts";

const fleet = (): LiveFleet => new LiveFleet({ host: "lab", version: "1.2.3" });
const powered = (timeMs: number, watts: number) =>
  delivery("fast", timeMs, [[first, gpu.power, watts]], [first]);

test("the first devices are a change, the same again is none", () => {
  const seen = fleet();
  expect(seen.update([powered(1_000, 1)], [], 1_000)).toEqual({ changed: true });
  expect(seen.update([powered(2_000, 2)], [], 2_000)).toEqual({ changed: false });
});

test("a device more is a change, and frames say which fleet they belong to", () => {
  const seen = fleet();
  seen.update([powered(1_000, 1)], [], 1_000);
  const before = seen.frame.fleet;
  expect(
    seen.update([powered(2_000, 1), delivery("static", 2_000, [], [second])], [], 2_000).changed,
  ).toBe(true);
  expect(seen.frame.fleet).toBe(before + 1);
  expect(seen.describe().fleet).toBe(seen.frame.fleet);
});

test("a limit that arrives later is a change", () => {
  const seen = fleet();
  seen.update([powered(1_000, 1)], [], 1_000);
  const limits = delivery("static", 1_000, [[first, gpu.memoryTotal, 1e9]], [first]);
  expect(seen.update([powered(2_000, 1), limits], [], 2_000).changed).toBe(true);
  expect(seen.describe().devices[0]?.facts.memoryTotal).toBe(1e9);
});

test("a device whose source falls silent stays, with stale readings and its last limits", () => {
  const seen = fleet();
  const limits = delivery("static", 1_000, [[first, gpu.memoryTotal, 1e9]], [first]);
  seen.update([powered(1_000, 1), limits], [], 1_000);
  expect(seen.update([], ["test: hung"], 9_000).changed).toBe(false);
  expect(seen.describe().devices[0]?.facts.memoryTotal).toBe(1e9);
  expect(seen.frame.rows[0]?.values[columnKeys.indexOf("power")]).toBe("stale");
  expect(seen.frame.problems).toEqual(["test: hung"]);
});

test("history holds what was read, and a gap where nothing was", () => {
  const seen = fleet();
  seen.update([powered(1_000, 100)], [], 1_000);
  seen.update([], [], 2_000);
  seen.update([powered(3_000, 300)], [], 3_000);
  const { history } = seen.describe();
  const power = history.points[0]?.[history.keys.indexOf("power")] ?? [];
  expect(power.slice(-3)).toEqual([100, null, 300]);
  expect(history.endSecond).toBe(3);
});

test("updates of the curves alone draw what whole updates draw, and leave devices and rows as they were", () => {
  const [whole, curves] = [fleet(), fleet()];
  const reading = (timeMs: number, watts: number, other: number) => [
    delivery(
      "fast",
      timeMs,
      [
        [first, gpu.power, watts],
        [first, gpu.utilization, 0.5],
        [first, gpu.memoryTotal, 1e9],
        [second, gpu.power, "failed"],
      ],
      [first, second],
    ),
    { ...powered(timeMs, other), source: "another exporter of the same GPU" },
  ];
  for (const seen of [whole, curves]) seen.update(reading(1_000, 100, 90), [], 1_000);
  const { frame } = curves;
  const later = [reading(2_000, 200, 210), [], reading(4_000, 400, 300)];
  later.forEach((deliveries, at) => {
    const nowMs = 2_000 + at * 1_000;
    whole.update(deliveries, [], nowMs);
    expect(curves.updateCurves(deliveries, nowMs)).toBe(true);
  });
  expect(curves.frame).toBe(frame);
  // A page that opens causes a whole update.
  curves.update(reading(5_000, 1, 2), [], 5_000);
  whole.update(reading(5_000, 1, 2), [], 5_000);
  expect(curves.describe()).toEqual(whole.describe());
  const { history } = curves.describe();
  const power = history.points[0]?.[history.keys.indexOf("power")] ?? [];
  expect(power.slice(-5)).toEqual([100, 210, null, 400, 2]);
});

test("a device that is new needs a whole update", () => {
  const seen = fleet();
  expect(seen.updateCurves([powered(1_000, 100)], 1_000)).toBe(false);
  expect(seen.describe().devices).toEqual([]);
});

test("one simulated device marks the fleet", () => {
  const seen = fleet();
  seen.update([powered(1_000, 1)], [], 1_000);
  expect(seen.describe().simulated).toBe(false);
  seen.update([delivery("fast", 1_000, [], [first, second])], [], 1_000);
  expect(seen.describe().simulated).toBe(true);
});

test("the fleet event names units and help from the catalogue", () => {
  const { schema, version, host, columns } = fleet().describe();
  expect({ schema, version, host }).toEqual({ schema: SCHEMA, version: "1.2.3", host: "lab" });
  expect(columns.find(({ key }) => key === "power")).toMatchObject({
    metric: gpu.power.name,
    unit: "watts",
    help: gpu.power.help,
  });
});

test("a very large fleet sends a shorter history", () => {
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    ...first,
    uuid: `GPU-${index}`,
    index,
  }));
  const seen = fleet();
  seen.update([delivery("fast", 1_000, [], many)], [], 1_000);
  expect(seen.describe().history.points[0]?.[0]).toHaveLength(30);
});

test("GPUs of two hosts with one uuid are two devices with rows, limits and curves of their own", () => {
  const seen = fleet();
  const of = (host: string, timeMs: number, watts: number, bytes: number) => [
    { ...powered(timeMs, watts), host },
    { ...delivery("static", timeMs, [[first, gpu.memoryTotal, bytes]], [first]), host },
  ];
  for (const timeMs of [1_000, 2_000])
    seen.update([...of("ws-1", timeMs, 300, 16e9), ...of("ws-2", timeMs, 20, 8e9)], [], timeMs);
  const { devices, history, frame } = seen.describe();
  expect(devices.map(({ host, uuid, facts }) => [host, uuid, facts.memoryTotal])).toEqual([
    ["ws-1", first.uuid, 16e9],
    ["ws-2", first.uuid, 8e9],
  ]);
  const power = columnKeys.indexOf("power");
  expect(frame.rows.map(({ values }) => values[power])).toEqual([300, 20]);
  const curve = history.keys.indexOf("power");
  expect(history.points.map((points) => points[curve]?.slice(-2))).toEqual([
    [300, 300],
    [20, 20],
  ]);
});
