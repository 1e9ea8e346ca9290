import { expect, test } from "vitest";
import type { WireColumn } from "../../../src/view/live/protocol.ts";
import { read } from "../../../src/view/gpu.ts";
import type { Labels } from "./columns.ts";
import { selectorFor, storedGpus, uuidMatcher } from "./stored.ts";

const column = (key: WireColumn["key"], metric: string, labels = {}): WireColumn => ({
  key,
  metric,
  labels,
  unit: "none",
  tier: "fast",
  help: "",
});
const columns = [
  column("up", "gpu_up"),
  column("utilization", "gpu_utilization_ratio"),
  column("temperatureEdge", "gpu_temperature_celsius", { sensor: "edge" }),
  column("fan", "gpu_fan_speed_ratio"),
];
const sample = (name: string, value: number, labels = {}) => ({
  labels: { __name__: name, uuid: "GPU-1", host: "far", ...labels },
  timeMs: 0,
  value,
  text: String(value),
});
const infos = [{ uuid: "GPU-1", gpu: "3", host: "far", vendor: "amd", model: "MI300X" }];

test("a GPU that is only stored has the readings of its series, its age, and values that are not reported are absent", () => {
  const [gpu] = storedGpus({
    columns,
    infos,
    samples: [
      sample("gpu_up", 1),
      sample("gpu_utilization_ratio", 0.5),
      sample("gpu_temperature_celsius", 60, { sensor: "hotspot" }),
      sample("gpu_temperature_celsius", 50, { sensor: "edge" }),
      sample("gpu_fan_speed_ratio", 0.2, { fan: "0" }),
      sample("gpu_fan_speed_ratio", 0.4, { fan: "1" }),
      sample("gpu_memory_total_bytes", 100),
      sample("gpu_throttle_active", 1, { reason: "thermal" }),
      sample("gpu_throttle_active", 0, { reason: "power_cap" }),
      sample("gpu_owner_info", 1, { workload: "train", user: "ada" }),
    ],
    sampledAtMs: new Map([["GPU-1@far", 4_000]]),
    nowMs: 10_000,
  });
  if (gpu === undefined) throw new Error("no GPU");
  expect([gpu.state, gpu.device.index, gpu.device.host]).toEqual(["active", 3, "far"]);
  expect(gpu.row).toMatchObject({
    ageMs: { fast: 6_000 },
    throttle: ["thermal"],
    job: "train",
    user: "ada",
  });
  expect([read(gpu, "temperatureEdge"), read(gpu, "fan"), read(gpu, "power")]).toEqual([
    50,
    0.4,
    "unsupported",
  ]);
  expect(gpu.device.facts.memoryTotal).toBe(100);
});

test("GPUs of two hosts with one uuid have readings of their own, also one without a host", () => {
  const hosts = [{ host: "a" }, { host: "b" }, { host: undefined, instance: "c:9400" }];
  const gpus = storedGpus({
    columns,
    infos: hosts.map((labels) => ({ ...infos[0], ...labels })) as Labels[],
    samples: hosts.map((labels, at) => sample("gpu_utilization_ratio", at / 10, labels)),
    sampledAtMs: new Map(["a", "b", "c:9400"].map((host) => [`GPU-1@${host}`, 0])),
    nowMs: 0,
  });
  expect(gpus.map((gpu) => [gpu.id, read(gpu, "utilization")])).toEqual([
    ["GPU-1@a", 0],
    ["GPU-1@b", 0.1],
    ["GPU-1@c:9400", 0.2],
  ]);
});

test("a GPU whose series have ended is silent, and not at zero", () => {
  const [gpu] = storedGpus({ columns, infos, samples: [], sampledAtMs: new Map(), nowMs: 0 });
  expect([gpu?.state, gpu && read(gpu, "utilization")]).toEqual(["silent", "stale"]);
});

test("what is special in a selector is escaped, and long lists are not named at all", () => {
  expect(uuidMatcher(["a.b", "c"])).toBe(String.raw`,uuid=~"a\\.b|c"`);
  expect(uuidMatcher(Array.from({ length: 101 }, String))).toBe("");
  expect(selectorFor(columns, ["x"])).toMatch(/^\{__name__=~"gpu_up\|.*",uuid=~"x"\}$/);
});

test.for([
  [{ vendor: "fakecorp" }, "fakecorp"],
  [{}, "unknown"],
] as const)("a stored GPU whose gpu_info has %o is of vendor %s", ([labels, vendor]) => {
  const [gpu] = storedGpus({
    columns,
    infos: [{ uuid: "GPU-1", host: "far", ...labels }],
    samples: [],
    sampledAtMs: new Map(),
    nowMs: 10_000,
  });
  expect(gpu?.device).toMatchObject({ uuid: "GPU-1", vendor });
});
