/** A made-up GPU for tests: readings by name, everything else unsupported. */
import {
  type ColumnKey,
  columnKeys,
  type FactKey,
  factKeys,
  type WireRow,
  type WireValue,
} from "../../../src/view/live/protocol.ts";
import { type Gpu, gpuOf } from "./gpu.ts";

export interface SampleGpuOptions {
  readonly index?: number;
  readonly model?: string;
  readonly host?: string;
  readonly readings?: Partial<Record<ColumnKey, WireValue>>;
  readonly facts?: Partial<Record<FactKey, WireValue>>;
  readonly row?: Partial<WireRow>;
}

export function sampleGpu({
  index = 0,
  model = "NVIDIA H200",
  host = "lab",
  readings = {},
  facts = {},
  row = {},
}: SampleGpuOptions = {}): Gpu {
  return gpuOf(
    {
      uuid: `GPU-0000000${index}-1111-2222-3333-444444444444`,
      index,
      host,
      vendor: "nvidia",
      model,
      simulated: false,
      source: "test",
      facts: Object.fromEntries(
        factKeys.map((key) => [key, facts[key] ?? "unsupported"]),
      ) as Record<FactKey, WireValue>,
    },
    {
      values: columnKeys.map((key) => readings[key] ?? (key === "up" ? 1 : "unsupported")),
      ageMs: { fast: 400 },
      throttle: [],
      ...row,
    },
  );
}
