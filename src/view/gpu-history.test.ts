import { expect, test } from "vitest";
import { GpuHistory } from "./gpu-history.ts";
import { type Gpu, gpuId, gpuOf } from "./gpu.ts";
import { encodeCurve } from "./live/curve-text.ts";
import type { EncodedHistory } from "./live/fleet-columns.ts";
import { columnKeys, factKeys, historyKeys, type WireDevice } from "./live/protocol.ts";

const device: WireDevice = {
  uuid: "GPU-aaaa",
  index: 0,
  host: "lab",
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
  source: "nvidia",
  facts: Object.fromEntries(factKeys.map((key) => [key, "unsupported"])) as WireDevice["facts"],
};
const id = gpuId(device);

const gpuAt = (second: number, power: number): Gpu =>
  gpuOf(
    device,
    {
      values: columnKeys.map((key) => (key === "power" ? power : "stale")),
      ageMs: {},
      throttle: "stale",
    },
    second * 1_000,
  );

/** Power of one second each, up to the second 10. */
const encoded = (...power: readonly (number | null)[]): EncodedHistory => ({
  endSecond: 10,
  keys: historyKeys,
  grains: historyKeys.map(() => 1),
  curves: historyKeys.map((key) => [key === "power" ? encodeCurve("power", power) : ""]),
});

test("encoded curves are those of before the frames that came until they are read", () => {
  const history = new GpuHistory(6);
  history.restoreEncoded([device], encoded(100, null, 120));
  history.record(gpuAt(11, 130));
  history.record(gpuAt(12, 140));
  expect(history.read(id, "power", 12)).toEqual([null, 100, null, 120, 130, 140]);
  history.record(gpuAt(13, 150));
  expect(history.read(id, "power", 13)).toEqual([100, null, 120, 130, 140, 150]);
});

test("encoded curves that have left the window, or belong to a removed GPU, are dropped", () => {
  const history = new GpuHistory(6);
  history.restoreEncoded([device], encoded(100, 110, 120));
  history.record(gpuAt(16, 130));
  expect(history.read(id, "power", 10)).toEqual([null, null, null, null, null, null]);
  history.restoreEncoded([device], encoded(100, 110, 120));
  history.forgetAllBut(new Set());
  expect(history.read(id, "power", 10)).toEqual([null, null, null, null, null, null]);
});
