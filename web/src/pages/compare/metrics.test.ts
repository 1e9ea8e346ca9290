import { expect, test } from "vitest";
import { compareMetricSpecs, isOf, matcherOf, queryOf } from "./metrics.ts";

const find = (key: string) => {
  const found = compareMetricSpecs.find((one) => one.key === key);
  if (found === undefined) throw new Error(`no metric ${key}`);
  return found;
};
const hour = 3_600_000;

test("GPUs are asked for together, one curve each", () =>
  expect(queryOf(find("edge"), "gpu", ["SIM-1", "SIM-2"], hour)).toBe(
    'max by (host, uuid) (gpu_temperature_celsius{uuid=~"SIM-1|SIM-2",sensor="edge"})',
  ));

test("a host's power is the sum of its GPUs, each counted once", () =>
  expect(queryOf(find("power"), "host", ["node-1"], hour)).toBe(
    'sum by (host) (avg by (host, uuid) (gpu_power_watts{host=~"node-1"}))',
  ));

test("over days a point is the mean of its samples", () =>
  expect(queryOf(find("power"), "gpu", ["a"], 24 * hour)).toBe(
    'avg by (host, uuid) (avg_over_time(gpu_power_watts{uuid=~"a"}[$step]))',
  ));

test("a GPU is known by uuid and host, or by its uuid alone", () => {
  const labels = { host: "ws-1", uuid: "amd-0000:03:00.0" };
  const of = (name: string): boolean => isOf({ kind: "gpu", name }, labels);
  expect([of("amd-0000:03:00.0@ws-1"), of("amd-0000:03:00.0@ws-2")]).toEqual([true, false]);
  expect([of("amd-0000:03:00.0"), isOf({ kind: "host", name: "ws-1" }, labels)]).toEqual([
    true,
    true,
  ]);
  expect(matcherOf("gpu", ["a@ws-1", "b"])).toBe('uuid=~"a|b"');
});

test("names are no regular expressions and end no string", () =>
  expect(matcherOf("host", ['a.b"c', "d|e"])).toBe(String.raw`host=~"a\\.b\"c|d\\|e"`));
