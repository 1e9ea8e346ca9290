/**
 * NVML's functions and how the library is loaded. Structures are Buffers decoded by hand: koffi's own decoding costs six to
 * seventeen times as much. Used only in the worker; a call made here may never return.
 */
import { loadLibrary, type NativeFunction, type Signatures } from "../native.ts";
import { code } from "./codes.ts";

export type NvmlFunction = NativeFunction;

/** Every function called, with its argument kinds. Handles are plain addresses, which fit a JavaScript number. */
export const signatures = {
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
  nvmlDeviceGetMinorNumber: ["handle", "out"],
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
  nvmlDeviceGetGpuInstanceById: ["handle", "u32", "out"],
  nvmlGpuInstanceGetInfo: ["handle", "out"],
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
} as const satisfies Signatures;

export type FunctionName = keyof typeof signatures;
export type Nvml = Readonly<Record<FunctionName, NvmlFunction>>;

export interface LoadedNvml {
  readonly nvml: Nvml;
  readonly path: string;
  /** Functions missing from this driver's library; calling one returns FUNCTION_NOT_FOUND. */
  readonly missing: readonly FunctionName[];
}

export async function loadNvml(paths: readonly string[]): Promise<LoadedNvml> {
  const { functions, path, missing } = await loadLibrary(paths, signatures, code.functionNotFound);
  return { nvml: functions, path, missing };
}
