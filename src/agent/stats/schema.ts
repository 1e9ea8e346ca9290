/**
 * The shape of `/stats`. docs/reference/stats.schema.json is generated from it; a change of meaning needs a new schema name. Fields added
 * since the first version are optional, and unknown fields are ignored, so that agents of other versions can be read.
 */
import * as v from "valibot";
import { absenceReasons } from "../../model/presence.ts";

/** The MLPerf system-description field this value answers; null if MLPerf has no such field. */
const mlperf = v.nullable(v.string());

const textField = v.object({ value: v.nullable(v.string()), mlperf });

const countField = v.object({ value: v.nullable(v.number()), mlperf });

/** If a number is missing, `value` is null, never 0, and `absent` contains the reason. */
const numberField = v.object({
  value: v.nullable(v.number()),
  unit: v.string(),
  mlperf,
  absent: v.optional(v.picklist(absenceReasons)),
});

const averagePower = v.object({
  ...numberField.entries,
  window_seconds: v.nullable(v.number()),
  samples: v.number(),
});

/** Whether a power or energy covers the whole board or only the chip. */
const scope = v.nullable(v.picklist(["board", "chip"]));

const gpuStats = v.object({
  uuid: textField,
  index: v.object({ value: v.number(), mlperf }),
  pci_bus_id: textField,
  model: textField,
  /** UUID of the GPU this is an instance of; null for a whole GPU. */
  parent: textField,
  vendor: textField,
  driver: textField,
  vbios: textField,
  part_number: v.optional(textField),
  simulated: v.boolean(),
  up: v.nullable(v.boolean()),
  memory_total: numberField,
  memory_used: numberField,
  average_power: averagePower,
  /** Power of the chip alone, on cards that report it; not comparable with `average_power`. */
  average_chip_power: v.optional(averagePower),
  /** From the hardware's energy counter. On cards with several counters, `counter` is the driver's name and `scope` what it covers. */
  energy: v.optional(v.object({ ...numberField.entries, counter: v.nullable(v.string()), scope })),
  power_limit: numberField,
  pcie_link: v.object({
    type: textField,
    generation: numberField,
    generation_max: numberField,
    width: numberField,
    width_max: numberField,
    /** Bandwidth of `generation_max` and `width_max` in one direction, after line coding. */
    bandwidth_max: v.optional(numberField),
  }),
  p2p: v.object({
    mlperf,
    peers: v.array(v.object({ uuid: v.string(), accessible: v.boolean() })),
  }),
  source: v.nullable(v.string()),
  age_seconds: v.nullable(v.number()),
});

export const statsSchema = v.object({
  schema: v.literal("gpulse.stats/1"),
  time: v.string(),
  gpulse: v.object({ version: v.string() }),
  simulated: v.boolean(),
  host: v.object({
    name: v.string(),
    processor: textField,
    /** Number of sockets. */
    processors: v.optional(countField),
    cores_per_processor: v.optional(countField),
    /** Physical cores of the machine, including those this process may not use. */
    processor_cores: countField,
    processor_threads: v.optional(countField),
    /** Threads this process may run on, by CPU affinity and container limit. */
    available_threads: v.optional(countField),
    memory_total: numberField,
    /** The lowest memory limit of this process's cgroups; null if none is set. */
    memory_limit: v.optional(numberField),
  }),
  gpu_count: v.object({ value: v.number(), mlperf }),
  gpus: v.array(gpuStats),
});

export type Stats = v.InferOutput<typeof statsSchema>;
export type GpuStats = Stats["gpus"][number];
export type NumberField = v.InferOutput<typeof numberField>;
