/**
 * Loads NVML and binds the functions used, by koffi. Structures are Buffers read by hand: koffi's own decoding costs six to
 * seventeen times as much. Runs in the worker alone; a call made here may never come back.
 */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { LibraryHandle } from "koffi";
import { code } from "./codes.ts";

export type Argument = number | bigint | ArrayBufferView | null;
export type NvmlFunction = (...args: Argument[]) => number;

/** handle and number arguments by value, out for memory that NVML fills. */
type Kind = "handle" | "u32" | "u64" | "out";

/** A table: every function called, and how. Handles are plain addresses, which fit a JavaScript number. */
const signatures = {
  nvmlInit_v2: [],
  nvmlShutdown: [],
  nvmlSystemGetDriverVersion: ["out", "u32"],
  nvmlSystemGetCudaDriverVersion_v2: ["out"],
  nvmlDeviceGetCount_v2: ["out"],
  nvmlDeviceGetHandleByIndex_v2: ["u32", "out"],
  nvmlDeviceGetUUID: ["handle", "out", "u32"],
  nvmlDeviceGetName: ["handle", "out", "u32"],
  nvmlDeviceGetVbiosVersion: ["handle", "out", "u32"],
  nvmlDeviceGetPciInfo_v3: ["handle", "out"],
  nvmlDeviceGetBusType: ["handle", "out"],
  nvmlDeviceGetUtilizationRates: ["handle", "out"],
  nvmlDeviceGetEncoderUtilization: ["handle", "out", "out"],
  nvmlDeviceGetDecoderUtilization: ["handle", "out", "out"],
  nvmlDeviceGetJpgUtilization: ["handle", "out", "out"],
  nvmlDeviceGetOfaUtilization: ["handle", "out", "out"],
  nvmlDeviceGetMemoryInfo: ["handle", "out"],
  nvmlDeviceGetMemoryInfo_v2: ["handle", "out"],
  nvmlDeviceGetBAR1MemoryInfo: ["handle", "out"],
  nvmlDeviceGetTemperature: ["handle", "u32", "out"],
  nvmlDeviceGetMarginTemperature: ["handle", "out"],
  nvmlDeviceGetTemperatureThreshold: ["handle", "u32", "out"],
  nvmlDeviceGetPowerUsage: ["handle", "out"],
  nvmlDeviceGetEnforcedPowerLimit: ["handle", "out"],
  nvmlDeviceGetPowerManagementDefaultLimit: ["handle", "out"],
  nvmlDeviceGetPowerManagementLimitConstraints: ["handle", "out", "out"],
  nvmlDeviceGetTotalEnergyConsumption: ["handle", "out"],
  nvmlDeviceGetClockInfo: ["handle", "u32", "out"],
  nvmlDeviceGetMaxClockInfo: ["handle", "u32", "out"],
  nvmlDeviceGetCurrentClocksEventReasons: ["handle", "out"],
  nvmlDeviceGetCurrentClocksThrottleReasons: ["handle", "out"],
  nvmlDeviceGetPerformanceState: ["handle", "out"],
  nvmlDeviceGetNumFans: ["handle", "out"],
  nvmlDeviceGetFanSpeed_v2: ["handle", "u32", "out"],
  nvmlDeviceGetFanSpeedRPM: ["handle", "out"],
  nvmlDeviceGetCurrPcieLinkGeneration: ["handle", "out"],
  nvmlDeviceGetCurrPcieLinkWidth: ["handle", "out"],
  nvmlDeviceGetMaxPcieLinkGeneration: ["handle", "out"],
  nvmlDeviceGetMaxPcieLinkWidth: ["handle", "out"],
  nvmlDeviceGetPcieThroughput: ["handle", "u32", "out"],
  nvmlDeviceGetPcieReplayCounter: ["handle", "out"],
  nvmlDeviceGetTotalEccErrors: ["handle", "u32", "u32", "out"],
  nvmlDeviceGetEccMode: ["handle", "out", "out"],
  nvmlDeviceGetPersistenceMode: ["handle", "out"],
  nvmlDeviceGetComputeMode: ["handle", "out"],
  nvmlDeviceGetGpuFabricInfo: ["handle", "out"],
  nvmlDeviceGetFieldValues: ["handle", "u32", "out"],
  nvmlDeviceGetNvLinkState: ["handle", "u32", "out"],
  nvmlDeviceGetP2PStatus: ["handle", "handle", "u32", "out"],
  nvmlDeviceGetMigMode: ["handle", "out", "out"],
  nvmlDeviceGetMaxMigDeviceCount: ["handle", "out"],
  nvmlDeviceGetMigDeviceHandleByIndex: ["handle", "u32", "out"],
  nvmlDeviceGetGpuInstanceId: ["handle", "out"],
  nvmlDeviceGetComputeInstanceId: ["handle", "out"],
  nvmlDeviceGetComputeRunningProcesses: ["handle", "out", "out"],
  nvmlDeviceGetComputeRunningProcesses_v2: ["handle", "out", "out"],
  nvmlDeviceGetComputeRunningProcesses_v3: ["handle", "out", "out"],
  nvmlDeviceGetGraphicsRunningProcesses: ["handle", "out", "out"],
  nvmlDeviceGetGraphicsRunningProcesses_v2: ["handle", "out", "out"],
  nvmlDeviceGetGraphicsRunningProcesses_v3: ["handle", "out", "out"],
  nvmlDeviceGetProcessUtilization: ["handle", "out", "out", "u64"],
  nvmlEventSetCreate: ["out"],
  nvmlEventSetFree: ["handle"],
  nvmlDeviceRegisterEvents: ["handle", "u64", "handle"],
  nvmlEventSetWait_v2: ["handle", "out", "u32"],
  nvmlGpmQueryDeviceSupport: ["handle", "out"],
  nvmlGpmSampleAlloc: ["out"],
  nvmlGpmSampleFree: ["handle"],
  nvmlGpmSampleGet: ["handle", "handle"],
  nvmlGpmMigSampleGet: ["handle", "u32", "handle"],
  nvmlGpmMetricsGet: ["out"],
} as const satisfies Record<string, readonly Kind[]>;

export type FunctionName = keyof typeof signatures;
export type Nvml = Readonly<Record<FunctionName, NvmlFunction>>;

const ctypes: Readonly<Record<Kind, string>> = {
  handle: "uint64_t",
  u32: "unsigned int",
  u64: "uint64_t",
  out: "void *",
};

export interface LoadedNvml {
  readonly nvml: Nvml;
  readonly path: string;
  /** Functions this driver's library does not have; calling one answers FUNCTION_NOT_FOUND. */
  readonly missing: readonly FunctionName[];
}

/** `refused`: a library file is there and does not load, such as one of another architecture. */
export class LibraryLoadError extends Error {
  readonly refused: boolean;

  constructor(message: string, refused: boolean) {
    super(message);
    this.refused = refused;
  }
}

/** Loads the first library of the list that loads. Throws the loader's reason, of a file that was refused before one that is missing. */
export async function loadNvml(paths: readonly string[]): Promise<LoadedNvml> {
  const { default: koffi } = await import("koffi");
  const errors: LibraryLoadError[] = [];
  for (const path of paths) {
    try {
      return bind(koffi.load(path), path);
    } catch (thrown) {
      errors.push(loadError(path, thrown));
    }
  }
  throw (
    errors.find(({ refused }) => refused) ??
    errors[0] ??
    new LibraryLoadError("no library to load", false)
  );
}

/** The loader reports a missing dependency of the library in the same words as a missing library. */
function loadError(path: string, thrown: unknown): LibraryLoadError {
  const reason = (thrown instanceof Error ? thrown.message : String(thrown)).replace(
    /^Failed to load shared library: /,
    "",
  );
  const saysMissing = /no such file|module could not be found/i.test(reason);
  const exists = isAbsolute(path) && existsSync(path);
  const hint = saysMissing && exists ? "; a library it depends on is missing" : "";
  return new LibraryLoadError(`${path}: ${reason}${hint}`, exists || !saysMissing);
}

function bind(library: LibraryHandle, path: string): LoadedNvml {
  const missing: FunctionName[] = [];
  const bound = Object.entries(signatures).map(([name, kinds]): [string, NvmlFunction] => {
    try {
      const types = kinds.map((kind) => ctypes[kind]);
      return [name, library.func(name, "int", types) as NvmlFunction];
    } catch {
      missing.push(name as FunctionName);
      return [name, () => code.functionNotFound];
    }
  });
  return { nvml: Object.fromEntries(bound) as Nvml, path, missing };
}
