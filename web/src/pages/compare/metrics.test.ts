import { expect, test } from "vitest";
import { comparedMetrics, matcherOf, queryOf } from "./metrics.ts";

const find = (key: string) => {
  const found = comparedMetrics.find((one) => one.key === key);
  if (found === undefined) throw new Error(`no metric ${key}`);
  return found;
};
const hour = 3_600_000;

test("GPUs are asked for together, one curve each", () =>
  expect(queryOf(find("edge"), "gpu", ["SIM-1", "SIM-2"], hour)).toBe(
    'max by (uuid) (gpu_temperature_celsius{uuid=~"SIM-1|SIM-2",sensor="edge"})',
  ));

test("a host's power is the sum of its GPUs, each counted once", () =>
  expect(queryOf(find("power"), "host", ["node-1"], hour)).toBe(
    'sum by (host) (avg by (host, uuid) (gpu_power_watts{host=~"node-1"}))',
  ));

test("over days a point is the mean of its samples", () =>
  expect(queryOf(find("power"), "gpu", ["a"], 24 * hour)).toBe(
    'avg by (uuid) (avg_over_time(gpu_power_watts{uuid=~"a"}[$step]))',
  ));

test("names are no regular expressions and end no string", () =>
  expect(matcherOf("host", ['a.b"c', "d|e"])).toBe(String.raw`host=~"a\\.b\"c|d\\|e"`));
