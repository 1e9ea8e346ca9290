/** The shape of `/stats`. docs/reference/stats.schema.json is made from it; a change of meaning is a new schema name. */
import * as v from "valibot";

/** Names the MLPerf system-description field it answers; null where MLPerf does not ask. */
const mlperf = v.nullable(v.string());

const textField = v.strictObject({ value: v.nullable(v.string()), mlperf });

/** Where a number is not there, its value is null and `absent` says why: it is never 0. */
const numberField = v.strictObject({
  value: v.nullable(v.number()),
  unit: v.string(),
  mlperf,
  absent: v.optional(v.picklist(["unsupported", "denied", "asleep", "failed", "ended"])),
});

const averagePower = v.strictObject({
  ...numberField.entries,
  window_seconds: v.nullable(v.number()),
  samples: v.number(),
});

const gpuStats = v.strictObject({
  uuid: textField,
  index: v.strictObject({ value: v.number(), mlperf }),
  pci_bus_id: textField,
  model: textField,
  /** uuid of the GPU this is an instance of; null on a whole GPU. */
  parent: textField,
  vendor: textField,
  driver: textField,
  vbios: textField,
  simulated: v.boolean(),
  up: v.nullable(v.boolean()),
  memory_total: numberField,
  memory_used: numberField,
  average_power: averagePower,
  power_limit: numberField,
  pcie_link: v.strictObject({
    type: textField,
    generation: numberField,
    generation_max: numberField,
    width: numberField,
    width_max: numberField,
  }),
  p2p: v.strictObject({
    mlperf,
    peers: v.array(v.strictObject({ uuid: v.string(), accessible: v.boolean() })),
  }),
  source: v.nullable(v.string()),
  age_seconds: v.nullable(v.number()),
});

export const statsSchema = v.strictObject({
  schema: v.literal("gpulse.stats/1"),
  time: v.string(),
  gpulse: v.strictObject({ version: v.string() }),
  simulated: v.boolean(),
  host: v.strictObject({
    name: v.string(),
    processor: textField,
    processor_cores: v.strictObject({ value: v.number(), mlperf }),
    memory_total: numberField,
  }),
  gpu_count: v.strictObject({ value: v.number(), mlperf }),
  gpus: v.array(gpuStats),
});

export type Stats = v.InferOutput<typeof statsSchema>;
export type GpuStats = Stats["gpus"][number];
export type NumberField = v.InferOutput<typeof numberField>;
