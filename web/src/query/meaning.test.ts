import { expect, test } from "vitest";
import { bareCounter, familyOf, unitOf } from "./meaning.ts";

test.each([
  ["gpu_power_watts", "watts", "power"],
  ['max by (host) (gpu_temperature_celsius{sensor="edge"})', "celsius", "temperature"],
  ["gpu_power_watts > 300", "watts", "power"],
  ["gpu_power_watts / gpu_power_limit_watts", "none", "count"],
  ["rate(gpu_energy_joules_total[5m])", "watts", "power"],
  ["increase(gpu_energy_joules_total[1h])", "joules", "power"],
  ["count(gpu_power_watts)", "none", "count"],
  ["gpu_memory_used_bytes", "bytes", "memory"],
  ['up{job="gpu_power_watts"}', "none", "count"],
  ["gpu_power_watts + gpu_temperature_celsius", "none", "count"],
  ["avg_over_time(gpu_utilization_ratio[5m])", "ratio", "utilization"],
  ["", "none", "count"],
])("%s is in %s and of the family %s", (query, unit, family) => {
  expect([unitOf(query), familyOf(query)]).toEqual([unit, family]);
});

test.each([
  ["gpu_energy_joules_total", "gpu_energy_joules_total"],
  [' http_requests_total{a="b"} ', "http_requests_total"],
  ["rate(gpu_energy_joules_total[5m])", undefined],
  ["gpu_power_watts", undefined],
])("%s as it stands: counter %s", (query, counter) => {
  expect(bareCounter(query)).toBe(counter);
});
