/** The messages between the source and the NVML process. Types only: both sides load this file. */
import type { Tier, gpu } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";

export type GpuMetric = keyof typeof gpu;

/** A series as the worker names it; the source makes the catalogue's label set of it. */
export interface SeriesSpec {
  readonly metric: GpuMetric;
  /** Position in the plan's devices. */
  readonly device: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Which series each schedule's values belong to; sent with the first answer after it changed. */
export interface SeriesPlan {
  readonly version: number;
  readonly devices: readonly Device[];
  readonly series: Readonly<Record<Tier, readonly SeriesSpec[]>>;
}

export interface ProcessReading {
  readonly device: number;
  readonly pid: number;
  /** Name of the program as the tool reports it; where /proc has one, that one counts. */
  readonly name?: string | undefined;
  readonly kind: "compute" | "graphics" | "both";
  /** NaN where the driver does not report it. */
  readonly memoryBytes: number;
  readonly utilizationRatio?: number | undefined;
}

export interface XidReading {
  readonly device: number;
  readonly xid: number;
  readonly count: number;
  readonly lastMs: number;
}

/** Why nothing can be read at all, as bare facts; `explain.ts` makes sentences of them. `library`: no file; `refused`: a file that does not load. */
export interface NvmlFailure {
  readonly stage: "koffi" | "library" | "refused" | "init" | "worker" | "asleep";
  readonly code?: number;
  readonly detail: string;
}

export interface NvmlInfo {
  readonly library: string;
  readonly driver: string;
  readonly cuda: string | undefined;
  readonly devices: readonly Device[];
}

/** All ones of 32 bits: what NVML writes for a scalar that it does not know. */
export const NVML_SENTINEL = 0xffff_ffff;
/** Stands for it in a snapshot's values, where the presence is `failed`: scaled, it could pass for a reading. */
export const SENTINEL_MARK = Infinity;

export interface WorkerSnapshot {
  readonly version: number;
  readonly plan?: SeriesPlan;
  readonly values: Float64Array;
  readonly presence: Uint8Array;
  /** Why GPUs are lost, by UUID; absent while none is. */
  readonly losses?: Readonly<Record<string, string>>;
  /** With the slow schedule only. */
  readonly processes?: readonly ProcessReading[];
  readonly xids?: readonly XidReading[];
  readonly usage?: ProcessUsage;
}

export interface WorkerSettings {
  readonly libraries: readonly string[];
  /** Where /sys is, to see whether a GPU sleeps without waking it. */
  readonly sysfs: string;
}

/** What the NVML process has used since it was started. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number | undefined;
}

export interface StartSettings {
  /** Also read each process's share of the GPU, 2 ms a call. */
  readonly processes: boolean;
  readonly slowEveryMs: number;
}

export interface BenchResult {
  readonly passes: number;
  readonly wallMicros: number;
  readonly cpuMicros: number;
  readonly tasks: readonly {
    readonly name: string;
    readonly costMicros: number;
    readonly everyMs: number;
  }[];
}

export type WorkerRequest =
  | { readonly kind: "open" }
  | {
      readonly kind: "start";
      readonly settings: StartSettings;
      /** GPUs an earlier process found: one that is no longer listed is reported as lost. */
      readonly known: readonly Device[];
    }
  | { readonly kind: "read"; readonly tier: Tier; readonly knows: number }
  | { readonly kind: "bench"; readonly passes: number }
  | { readonly kind: "close" };

export type WorkerResponse =
  | { readonly kind: "opened"; readonly opened: NvmlInfo }
  | { readonly kind: "snapshot"; readonly snapshot: WorkerSnapshot }
  | { readonly kind: "bench"; readonly bench: BenchResult }
  | { readonly kind: "done" }
  | { readonly kind: "failure"; readonly problem: NvmlFailure };

export interface RequestEnvelope {
  readonly id: number;
  readonly request: WorkerRequest;
}

export interface ResponseEnvelope {
  readonly id: number;
  readonly answer: WorkerResponse;
}
