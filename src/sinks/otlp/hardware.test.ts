import { expect, test } from "vitest";
import { otlpBatch } from "../../formats/otlp/decode/batch.ts";
import { decodeOtlp } from "../../formats/otlp/decode/protobuf.ts";
import { encodeOtlp } from "../../formats/otlp/encode/protobuf.ts";
import { exportOf } from "../../formats/otlp/encode/model.ts";
import { metadataOf } from "../../formats/samples/from-frame.ts";
import { batchOf } from "../../../test/fixtures/formats/samples-text.ts";
import { findMetric } from "../../model/catalogue/index.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { HardwareNames } from "./hardware.ts";

const of = (name: string, more: Record<string, string> = {}): LabelSet =>
  labelSet({ __name__: name, uuid: "G", gpu: "1", host: "a", ...more });

const resources = (...samples: readonly (readonly [LabelSet, number, number])[]) =>
  exportOf(batchOf(samples), (name) => {
    const metric = findMetric(name);
    return metric && metadataOf(metric);
  });

test("a GPU's readings go under OpenTelemetry's names with its id, maker and model; others keep ours", () => {
  const names = new HardwareNames();
  const [resource] = names.rename(
    resources(
      [of("gpu_info", { vendor: "nvidia", model: "H200" }), 1, 1],
      [of("gpu_utilization_ratio"), 1, 0.5],
      [of("gpu_memory_used_bytes"), 1, 1024],
      [of("gpu_temperature_celsius", { sensor: "edge" }), 1, 60],
      [of("gpu_up"), 1, 1],
      [of("gpu_clock_hertz", { clock: "memory" }), 1, 1e9],
    ),
  );
  const reported = resource?.metrics.map(({ name, kind, unit }) => `${name} ${kind} ${unit}`);
  expect(reported).toEqual([
    "hw.gpu.utilization gauge 1",
    "hw.gpu.memory.usage sum By",
    "hw.temperature gauge Cel",
    "hw.status sum 1",
    "gpu_info gauge ",
    "gpu_clock_hertz gauge Hz",
  ]);
  expect(Object.fromEntries(resource?.metrics[0]?.points[0]?.attributes ?? [])).toEqual({
    "hw.gpu.task": "general",
    "hw.id": "G",
    "hw.model": "H200",
    "hw.name": "GPU 1",
    "hw.vendor": "NVIDIA",
  });
  expect(resource?.metrics[3]?.points.map(({ value }) => value)).toEqual([1, 0]);
});

test("what is known of a GPU holds for later requests, and before that its maker is not guessed", () => {
  const names = new HardwareNames();
  const ask = () => {
    const [resource] = names.rename(resources([of("gpu_power_watts"), 1, 250]));
    return Object.fromEntries(resource?.metrics[0]?.points[0]?.attributes ?? []);
  };
  expect(ask()).toEqual({ "hw.id": "G", "hw.name": "GPU 1", "hw.type": "gpu" });
  names.rename(resources([of("gpu_info", { vendor: "amd", model: "MI300X" }), 1, 1]));
  expect(ask()).toMatchObject({ "hw.vendor": "AMD", "hw.model": "MI300X" });
});

test("an up-down counter is no counter to a receiver", () => {
  const sent = new HardwareNames().rename(resources([of("gpu_memory_used_bytes"), 1, 1024]));
  const { batch } = otlpBatch(decodeOtlp(encodeOtlp(sent, "1")));
  expect(batch.metadata).toMatchObject([{ family: "hw_gpu_memory_usage_bytes", type: "gauge" }]);
});
