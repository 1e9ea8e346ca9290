/** NVML's return codes, and what each means for a reading, for the GPU and for the driver. */
import { presence } from "../../../model/presence.ts";

export const code = {
  success: 0,
  uninitialized: 1,
  invalidArgument: 2,
  notSupported: 3,
  noPermission: 4,
  notFound: 6,
  insufficientSize: 7,
  driverNotLoaded: 9,
  timeout: 10,
  functionNotFound: 13,
  gpuIsLost: 15,
  resetRequired: 16,
  versionMismatch: 18,
  vgpuEccNotSupported: 22,
  argumentVersionMismatch: 25,
  deprecated: 26,
  gpuNotFound: 28,
} as const;

const names: Readonly<Record<number, string>> = {
  0: "SUCCESS",
  1: "UNINITIALIZED",
  2: "INVALID_ARGUMENT",
  3: "NOT_SUPPORTED",
  4: "NO_PERMISSION",
  5: "ALREADY_INITIALIZED",
  6: "NOT_FOUND",
  7: "INSUFFICIENT_SIZE",
  8: "INSUFFICIENT_POWER",
  9: "DRIVER_NOT_LOADED",
  10: "TIMEOUT",
  11: "IRQ_ISSUE",
  12: "LIBRARY_NOT_FOUND",
  13: "FUNCTION_NOT_FOUND",
  14: "CORRUPTED_INFOROM",
  15: "GPU_IS_LOST",
  16: "RESET_REQUIRED",
  17: "OPERATING_SYSTEM",
  18: "LIB_RM_VERSION_MISMATCH",
  19: "IN_USE",
  20: "MEMORY",
  21: "NO_DATA",
  22: "VGPU_ECC_NOT_SUPPORTED",
  23: "INSUFFICIENT_RESOURCES",
  24: "FREQ_NOT_SUPPORTED",
  25: "ARGUMENT_VERSION_MISMATCH",
  26: "DEPRECATED",
  27: "NOT_READY",
  28: "GPU_NOT_FOUND",
  29: "INVALID_STATE",
  30: "RESET_TYPE_NOT_SUPPORTED",
  999: "UNKNOWN",
};

export function codeName(given: number): string {
  return names[given] ?? `code ${given}`;
}

/** Our arguments are constants: if a driver calls one invalid, it does not support the reading. */
const unsupported: ReadonlySet<number> = new Set([
  code.invalidArgument,
  code.notSupported,
  code.functionNotFound,
  code.vgpuEccNotSupported,
  code.argumentVersionMismatch,
  code.deprecated,
]);

export function isUnsupported(given: number): boolean {
  return unsupported.has(given);
}

/** Maps the return code of a reading's call to its presence code. */
export function presenceOf(given: number): number {
  if (given === code.success) return presence.present;
  if (given === code.noPermission) return presence.denied;
  return isUnsupported(given) ? presence.unsupported : presence.failed;
}

/** True if the GPU itself is lost, not only this reading. */
export function meansLost(given: number): boolean {
  return given === code.gpuIsLost || given === code.resetRequired || given === code.gpuNotFound;
}

/** True if the whole library has to be initialised again before anything can be read. */
export function meansDriverGone(given: number): boolean {
  return (
    given === code.uninitialized || given === code.driverNotLoaded || given === code.versionMismatch
  );
}
