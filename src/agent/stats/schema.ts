/**
 * The shape of `/stats`. docs/reference/stats.schema.json is made from it; a change of meaning is a new schema name. What was
 * added since the first version is optional, and what a reader does not know is passed over: agents of another version are read.
 */
import * as v from "valibot";
import { absenceReasons } from "../../model/presence.ts";

/** Names the MLPerf system-description field it answers; null where MLPerf does not ask. */
const mlperf = v.nullable(v.string());

const textField = v.object({ value: v.nullable(v.string()), mlperf });

const countField = v.object({ value: v.nullable(v.number()), mlperf });

/** Where a number is not there, its value is null and `absent` says why: it is never 0. */
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

/** What a power or energy covers: the whole board, or the chip alone. */
const scope = v.nullable(v.picklist(["board", "chip"]));

const gpuStats = v.object({
  uuid: textField,
  index: v.object({ value: v.number(), mlperf }),
  pci_bus_id: textField,
  model: textField,
  /** uuid of the GPU this is an instance of; null on a whole GPU. */
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
  /** Of the chip alone, on cards that report it; not to be compared with `average_power`. */
  average_chip_power: v.optional(averagePower),
  /** By the hardware's own counter: which one, as the driver names it, and what it covers, where a card has several. */
  energy: v.optional(v.object({ ...numberField.entries, counter: v.nullable(v.string()), scope })),
  power_limit: numberField,
  pcie_link: v.object({
    type: textField,
    generation: numberField,
    generation_max: numberField,
    width: numberField,
    width_max: numberField,
    /** Of `generation_max` and `width_max`, one direction, less the line code. */
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
    /** Sockets. */
    processors: v.optional(countField),
    cores_per_processor: v.optional(countField),
    /** Physical cores of the machine, whatever this process may use of them. */
    processor_cores: countField,
    processor_threads: v.optional(countField),
    /** Threads this process may run on, by its affinity and its container's limit. */
    available_threads: v.optional(countField),
    memory_total: numberField,
    /** The tightest limit of this process's cgroups; null where none is set. */
    memory_limit: v.optional(numberField),
  }),
  gpu_count: v.object({ value: v.number(), mlperf }),
  gpus: v.array(gpuStats),
});

export type Stats = v.InferOutput<typeof statsSchema>;
export type GpuStats = Stats["gpus"][number];
export type NumberField = v.InferOutput<typeof numberField>;
