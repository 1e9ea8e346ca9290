import { expect, test } from "vitest";
import { labelName, metricName, type NamedKind, plainDecimal } from "./names.ts";

// The output of Prometheus's own translator for the same names.
test.each<[name: string, unit: string, kind: NamedKind, made: string]>([
  ["system.io", "By", "counter", "system_io_bytes_total"],
  ["network (rx)", "By", "counter", "network_rx_bytes_total"],
  ["http.server.duration", "s", "other", "http_server_duration_seconds"],
  ["hw.gpu.power", "W", "gauge", "hw_gpu_power_watts"],
  ["hw.gpu.utilization", "1", "gauge", "hw_gpu_utilization_ratio"],
  ["hw.gpu.errors", "1", "counter", "hw_gpu_errors_total"],
  ["system.filesystem.utilization", "%", "gauge", "system_filesystem_utilization_percent"],
  ["broken.metric.speed", "km/h", "gauge", "broken_metric_speed_km_per_hour"],
  ["system.disk.io", "By/s", "gauge", "system_disk_io_bytes_per_second"],
  [
    "unsupported.metric.redundant",
    "__test $/°C",
    "counter",
    "unsupported_metric_redundant_test_per_C_total",
  ],
  ["requests", "{req}/s", "gauge", "requests_per_second"],
  ["requests", "{req}", "counter", "requests_total"],
  ["memory_usage_bytes", "By", "gauge", "memory_usage_bytes"],
  ["total_things", "", "counter", "things_total"],
  ["ratio_of", "1", "gauge", "of_ratio"],
  ["a__b...c", "", "gauge", "a_b_c"],
  ["5xx", "", "counter", "_5xx_total"],
  ["rec:rule", "", "gauge", "rec:rule"],
  ["ünït", "Hz", "gauge", "n_t_hertz"],
])("%s in %s as a %s", (name, unit, kind, made) => expect(metricName(name, unit, kind)).toBe(made));

test.each([
  ["http.method", "http_method"],
  ["123", "key_123"],
  ["_private", "key_private"],
  ["__reserved__", "__reserved__"],
  ["label:with", "label_with"],
  ["a-b/c", "a_b_c"],
])("the attribute %s", (name, made) => expect(labelName(name)).toBe(made));

test("names of which nothing is left are refused", () => {
  expect(() => metricName("…", "", "gauge")).toThrow("nothing is left of the metric name");
  expect(() => labelName("ü")).toThrow("nothing is left of the attribute name");
  expect(() => labelName("")).toThrow("nothing is left of the attribute name");
});

test.each([
  [1, "1"],
  [0.25, "0.25"],
  [1e-7, "0.0000001"],
  [1.25e-9, "0.00000000125"],
  [1e21, "1000000000000000000000"],
  [-1.5e22, "-15000000000000000000000"],
  [Infinity, "+Inf"],
])("%s is written as %s", (value, text) => expect(plainDecimal(value)).toBe(text));
