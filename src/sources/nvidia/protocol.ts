/** The messages between the source and the NVML process. Types and constants only: both sides load this file. */
import type { Tier, gpu } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";

export type GpuMetric = keyof typeof gpu;

/** A series as the worker identifies it; the source turns it into the catalogue's label set. */
export interface SeriesSpec {
  readonly metric: GpuMetric;
  /** Position in the plan's devices. */
  readonly device: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The series that the values of each tier belong to; sent with the first response after a change. */
export interface SeriesPlan {
  readonly version: number;
  readonly devices: readonly Device[];
  readonly series: Readonly<Record<Tier, readonly SeriesSpec[]>>;
}

export interface ProcessReading {
  readonly device: number;
  readonly pid: number;
  /** Program name as reported by the tool; a name from /proc takes precedence. */
  readonly name?: string | undefined;
  readonly kind: "compute" | "graphics" | "both";
  /** NaN if the driver does not report it. */
  readonly memoryBytes: number;
  readonly utilizationRatio?: number | undefined;
}

export interface XidReading {
  readonly device: number;
  readonly xid: number;
  readonly count: number;
  readonly lastMs: number;
}

/**
 * Why nothing can be read at all, as bare facts; `explain.ts` turns them into sentences. `library`: no file; `refused`: a file
 * that does not load.
 */
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

/** 32 bits of all ones: NVML's sentinel for an unknown scalar. */
export const NVML_SENTINEL = 0xffff_ffff;
/** Replaces the sentinel in a snapshot's values, with presence `failed`: a scaled sentinel could pass for a reading. */
export const SENTINEL_MARK = Infinity;

export interface WorkerSnapshot {
  readonly version: number;
  readonly plan?: SeriesPlan;
  readonly values: Float64Array;
  readonly presence: Uint8Array;
  /** Why GPUs are lost, by UUID; absent if none is lost. */
  readonly losses?: Readonly<Record<string, string>>;
  /** Present only in responses to slow reads. */
  readonly processes?: readonly ProcessReading[];
  readonly xids?: readonly XidReading[];
  readonly usage?: ProcessUsage;
}

export interface WorkerSettings {
  readonly libraries: readonly string[];
  /** Path of /sys, used to detect a sleeping GPU without waking it. */
  readonly sysfs: string;
}

/** Resources used by the NVML process since it was started. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number | undefined;
}

export interface StartSettings {
  /** Also read each process's share of the GPU, at 2 ms a call. */
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
      /** GPUs an earlier process found; those no longer listed are reported as lost. */
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
