/**
 * The schema of a snapshot: the facts of a machine that affect a benchmark, and its GPUs' readings at that moment. Plain JSON. A
 * fact that could not be read is left out and listed in `missing` with its reason: it is never made up.
 */
import * as v from "valibot";

const text = v.pipe(v.string("text"), v.maxLength(1_000, "text of 1000 letters at most"));
const number = v.pipe(v.number("a number"), v.finite("a finite number"));
const yesNo = v.boolean("true or false");
const maybe = <Schema extends v.GenericSchema>(schema: Schema) => v.exactOptional(schema);
const textByName = v.record(text, text, "a mapping of names");
const numberByName = v.record(text, number, "a mapping of names");

/** Identity is `uuid`. The index on the host may change between boots, so it is a reading and not a fact. */
const gpuFacts = v.object({
  uuid: text,
  vendor: text,
  model: text,
  simulated: yesNo,
  /** UUID of the GPU this is an instance of. */
  parent: maybe(text),
  pciBusId: maybe(text),
  driver: maybe(text),
  vbios: maybe(text),
  /** Versions by the part's name. */
  firmware: maybe(textByName),
  memoryTotalBytes: maybe(number),
  visibleMemoryTotalBytes: maybe(number),
  powerLimitWatts: maybe(number),
  powerLimitDefaultWatts: maybe(number),
  powerLimitMinWatts: maybe(number),
  powerLimitMaxWatts: maybe(number),
  clocks: v.object({
    /** By domain: graphics, sm, memory, video. */
    maxHertz: numberByName,
    /** Configured application clocks, if set (nvidia-smi -ac). */
    applicationHertz: maybe(numberByName),
    /** AMD's power_dpm_force_performance_level: auto, high, manual. */
    performanceLevel: maybe(text),
    /** Intel's configured minimum and maximum frequency. */
    requestedMinHertz: maybe(number),
    requestedMaxHertz: maybe(number),
  }),
  /** The best link that card and slot support together; the current link is a reading, since it slows down when idle. */
  pcie: v.object({
    type: maybe(text),
    generationMax: maybe(number),
    widthMax: maybe(number),
    /** One direction, after line coding. */
    bandwidthMaxBytesPerSecond: maybe(number),
    numaNode: maybe(number),
  }),
  eccEnabled: maybe(yesNo),
  persistenceEnabled: maybe(yesNo),
  migEnabled: maybe(yesNo),
  /** NVIDIA's compute mode: default, exclusive-thread, prohibited, exclusive-process. */
  computeMode: maybe(text),
  /** AMD's partition mode, such as SPX/NPS1. */
  partition: maybe(text),
});

const cache = v.object({ level: number, type: text, sizeBytes: number, count: number });

const processorFacts = v.object({
  model: maybe(text),
  vendor: maybe(text),
  architecture: maybe(text),
  sockets: maybe(number),
  cores: maybe(number),
  threads: maybe(number),
  microcode: maybe(text),
  caches: maybe(v.array(cache, "a list")),
  frequency: v.object({
    driver: maybe(text),
    governor: maybe(text),
    energyPreference: maybe(text),
    boost: maybe(yesNo),
    minHertz: maybe(number),
    maxHertz: maybe(number),
  }),
});

const memoryFacts = v.object({
  /** The kernel's total; a container's limit is in `container`. */
  totalBytes: maybe(number),
  swapTotalBytes: maybe(number),
  hugePages: maybe(v.object({ count: number, sizeBytes: number })),
  transparentHugePages: maybe(text),
  numaNodes: maybe(v.array(v.object({ node: number, memoryBytes: number, cpus: text }), "a list")),
});

const storageDevice = v.object({
  name: text,
  model: maybe(text),
  sizeBytes: maybe(number),
  /** nvme, ssd, disk or virtual. */
  kind: text,
});

const networkCard = v.object({
  name: text,
  driver: maybe(text),
  bitsPerSecond: maybe(number),
});

const boardFacts = v.object({
  vendor: maybe(text),
  product: maybe(text),
  biosVersion: maybe(text),
});

const osFacts = v.object({ name: maybe(text), kernel: maybe(text) });

/** A kernel command line may be 4 KiB long. */
const longText = v.pipe(v.string("text"), v.maxLength(5_000, "text of 5000 letters at most"));

const kernelFacts = v.object({
  /** /proc/cmdline, with secrets masked. */
  commandLine: maybe(longText),
  /** Values by name: `vm.swappiness`. */
  sysctl: maybe(textByName),
  /** Parameters of the loaded GPU drivers: by module, then by name. */
  modules: maybe(v.record(text, textByName, "a mapping of modules")),
  /** on, off, forceoff, notsupported. */
  smt: maybe(text),
  clocksource: maybe(text),
  transparentHugePagesDefrag: maybe(text),
});

/** The connection from one GPU to another. Read or calculated, never measured: no load is run. */
const p2pLink = v.object({
  /** nvlink, xgmi or pcie. */
  via: text,
  /** The maximum in one direction. */
  bandwidthBytesPerSecond: maybe(number),
  /** The source of the bandwidth: `reported`, `links` (links up × rate), `pcie` (slower PCIe link of the two). */
  basis: maybe(text),
});

const containerFacts = v.object({
  inside: yesNo,
  runtime: maybe(text),
  /** 1 or 2. */
  cgroupVersion: maybe(number),
  memoryLimitBytes: maybe(number),
  swapLimitBytes: maybe(number),
  cpuLimitCores: maybe(number),
  /** `0-3,8`. */
  cpuSet: maybe(text),
  memoryNodes: maybe(text),
  processLimit: maybe(number),
});

/** Versions by name: nvidia_driver, cuda_driver, cuda_toolkit, rocm, amdgpu_driver. */
const softwareFacts = v.object({ versions: textByName });

const gpuReadings = v.object({
  uuid: text,
  index: number,
  /** False if a GPU seen before does not respond. */
  up: maybe(yesNo),
  asleep: maybe(yesNo),
  memoryUsedBytes: maybe(number),
  /** An average over the window; on-die, so it is never MLPerf power. */
  powerWatts: maybe(number),
  powerKind: maybe(v.picklist(["board", "chip"], "board or chip")),
  powerWindowSeconds: maybe(number),
  powerSamples: maybe(number),
  utilizationRatio: maybe(number),
  temperatureCelsius: maybe(number),
  clockHertz: maybe(numberByName),
  performanceState: maybe(number),
  pcieGeneration: maybe(number),
  pcieWidth: maybe(number),
  /** The number of processes, if the source reports only that. */
  processes: maybe(number),
  /** Error counters by name: `ecc.uncorrected`, `xid`. Absent in files written before they were recorded. */
  errors: maybe(numberByName),
});

const gpuProcess = v.object({
  uuid: text,
  pid: number,
  name: maybe(text),
  kind: maybe(text),
  memoryBytes: maybe(number),
  user: maybe(text),
  container: maybe(text),
  pod: maybe(text),
  namespace: maybe(text),
  workload: maybe(text),
});

const missingFact = v.object({ fact: text, reason: text });

const visiblePart = v.object({
  /** driver, GPUs, topology, NUMA nodes, cgroup limits, clocks, persistence mode. */
  part: text,
  /** `absent`: the part does not exist, such as a link between GPUs on a machine with one GPU. */
  state: v.picklist(["seen", "partly", "unseen", "absent"], "seen, partly, unseen or absent"),
  /** What can be seen, or why nothing can. */
  detail: text,
});

export const snapshotFormat = "gpulse-snapshot";
export const snapshotVersion = 1;

export const snapshotSchema = v.object({
  format: v.literal(snapshotFormat),
  version: v.literal(snapshotVersion),
  /** RFC 3339. */
  takenAt: v.pipe(v.string("a time"), v.isoTimestamp("a time as 2026-01-31T12:00:00.000Z")),
  gpulse: text,
  host: text,
  label: maybe(text),
  simulated: yesNo,
  facts: v.object({
    gpus: v.array(gpuFacts, "a list"),
    /** By UUID, then by UUID: true if the first can read and write the second's memory. */
    p2p: v.record(text, v.record(text, yesNo, "a mapping"), "a mapping"),
    /** By UUID, then by UUID, if the first can reach the second. Absent in files written before it was recorded. */
    p2pLinks: maybe(v.record(text, v.record(text, p2pLink, "a mapping"), "a mapping")),
    board: boardFacts,
    processor: processorFacts,
    memory: memoryFacts,
    storage: v.array(storageDevice, "a list"),
    network: v.array(networkCard, "a list"),
    os: osFacts,
    /** Absent in files written before it was recorded. */
    kernel: maybe(kernelFacts),
    container: containerFacts,
    software: softwareFacts,
  }),
  readings: v.object({
    gpus: v.array(gpuReadings, "a list"),
    processes: v.array(gpuProcess, "a list"),
    host: v.object({
      memoryAvailableBytes: maybe(number),
      load1: maybe(number),
      /** A different id means that the machine was restarted. */
      bootId: maybe(text),
    }),
  }),
  /** What a container hides or restricts, one sentence each. */
  hidden: v.array(text, "a list"),
  /** Which parts of the machine could be seen. Absent in files written before it was recorded. */
  visibility: maybe(v.array(visiblePart, "a list")),
  missing: v.array(missingFact, "a list"),
});

export type Snapshot = v.InferOutput<typeof snapshotSchema>;
export type SnapshotFacts = Snapshot["facts"];
export type GpuFacts = SnapshotFacts["gpus"][number];
export type GpuReadings = Snapshot["readings"]["gpus"][number];
export type GpuProcessReading = Snapshot["readings"]["processes"][number];
export type KernelFacts = NonNullable<SnapshotFacts["kernel"]>;
export type P2pLink = v.InferOutput<typeof p2pLink>;
export type VisiblePart = v.InferOutput<typeof visiblePart>;
export type MissingFact = Snapshot["missing"][number];

export type SnapshotVerdict = "same" | "changed" | "loaded";

/** One difference between snapshots. `path` is stable and machine-readable: `gpus.GPU-1f.driver`. */
export interface SnapshotChange {
  readonly path: string;
  readonly kind: "fact" | "reading" | "process";
  readonly before: unknown;
  readonly after: unknown;
  readonly sentence: string;
}

export interface SnapshotDiff {
  /** `changed`: a fact differs. `loaded`: the facts are equal, but another load was on a GPU. */
  readonly verdict: SnapshotVerdict;
  readonly sentence: string;
  readonly changes: readonly SnapshotChange[];
  /** Facts known in one snapshot and unreadable in the other: neither equal nor changed. */
  readonly unproven: readonly { readonly path: string; readonly sentence: string }[];
  /** Differences that do not count as changes, with the reason. */
  readonly notes: readonly string[];
}

export interface SnapshotThresholds {
  /** A larger difference on one GPU means another load. */
  readonly memoryBytes: number;
  /** If undefined, a tenth of the GPU's power limit, and at least 15 W. */
  readonly powerWatts?: number;
}

export const defaultThresholds: SnapshotThresholds = { memoryBytes: 256 * 2 ** 20 };
