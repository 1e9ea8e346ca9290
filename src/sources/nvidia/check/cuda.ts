/**
 * The functions of the CUDA driver library that `gpulse check` calls, and its error codes. The library is part of the driver, so
 * no toolkit is needed.
 */
import { loadLibrary, type NativeFunction, type Signatures } from "../native.ts";

/** Every function called, with its argument kinds. Handles and device addresses are plain numbers. */
const signatures = {
  cuInit: ["u32"],
  cuDriverGetVersion: ["out"],
  cuDeviceGetCount: ["out"],
  cuDeviceGet: ["out", "u32"],
  cuDeviceGetUuid_v2: ["out", "u32"],
  cuDeviceGetUuid: ["out", "u32"],
  cuDeviceGetAttribute: ["out", "u32", "u32"],
  cuDevicePrimaryCtxSetFlags_v2: ["u32", "u32"],
  cuDevicePrimaryCtxRetain: ["out", "u32"],
  cuDevicePrimaryCtxRelease_v2: ["u32"],
  cuCtxSetCurrent: ["handle"],
  cuModuleLoadDataEx: ["out", "out", "u32", "out", "out"],
  cuModuleGetFunction: ["out", "handle", "out"],
  cuModuleUnload: ["handle"],
  cuMemGetInfo_v2: ["out", "out"],
  cuMemAlloc_v2: ["out", "u64"],
  cuMemFree_v2: ["handle"],
  cuMemAllocHost_v2: ["out", "u64"],
  cuMemFreeHost: ["handle"],
  cuMemcpyHtoD_v2: ["handle", "out", "u64"],
  cuMemcpyDtoH_v2: ["out", "handle", "u64"],
  cuMemcpyHtoDAsync_v2: ["handle", "handle", "u64", "handle"],
  cuMemcpyDtoHAsync_v2: ["handle", "handle", "u64", "handle"],
  cuMemcpyDtoDAsync_v2: ["handle", "handle", "u64", "handle"],
  cuLaunchKernel: [
    "handle",
    "u32",
    "u32",
    "u32",
    "u32",
    "u32",
    "u32",
    "u32",
    "handle",
    "out",
    "out",
  ],
  cuEventCreate: ["out", "u32"],
  cuEventRecord: ["handle", "handle"],
  cuEventSynchronize: ["handle"],
  cuEventElapsedTime: ["out", "handle", "handle"],
  cuEventDestroy_v2: ["handle"],
} as const satisfies Signatures;

export type CudaFunctionName = keyof typeof signatures;
export type Cuda = Readonly<Record<CudaFunctionName, NativeFunction>>;

export const cudaCode = {
  success: 0,
  outOfMemory: 2,
  deviceUnavailable: 46,
  noDevice: 100,
  eccUncorrectable: 214,
  invalidPtx: 218,
  notFound: 500,
  systemNotReady: 802,
  driverMismatch: 803,
  unknown: 999,
} as const;

const names: Readonly<Record<number, string>> = {
  1: "INVALID_VALUE",
  2: "OUT_OF_MEMORY",
  3: "NOT_INITIALIZED",
  4: "DEINITIALIZED",
  34: "STUB_LIBRARY",
  35: "INSUFFICIENT_DRIVER",
  46: "DEVICE_UNAVAILABLE",
  100: "NO_DEVICE",
  101: "INVALID_DEVICE",
  200: "INVALID_IMAGE",
  201: "INVALID_CONTEXT",
  209: "NO_BINARY_FOR_GPU",
  214: "ECC_UNCORRECTABLE",
  218: "INVALID_PTX",
  220: "NVLINK_UNCORRECTABLE",
  221: "JIT_COMPILER_NOT_FOUND",
  222: "UNSUPPORTED_PTX_VERSION",
  226: "CONTAINED",
  304: "OPERATING_SYSTEM",
  500: "NOT_FOUND",
  700: "ILLEGAL_ADDRESS",
  701: "LAUNCH_OUT_OF_RESOURCES",
  702: "LAUNCH_TIMEOUT",
  714: "HARDWARE_STACK_ERROR",
  715: "ILLEGAL_INSTRUCTION",
  716: "MISALIGNED_ADDRESS",
  718: "INVALID_PC",
  719: "LAUNCH_FAILED",
  721: "TENSOR_MEMORY_LEAK",
  800: "NOT_PERMITTED",
  801: "NOT_SUPPORTED",
  802: "SYSTEM_NOT_READY",
  803: "SYSTEM_DRIVER_MISMATCH",
  999: "UNKNOWN",
};

/** CUDA's name of a code, such as `CUDA_ERROR_OUT_OF_MEMORY (2)`. */
export const cudaCodeName = (code: number): string =>
  `${names[code] === undefined ? "CUDA error" : `CUDA_ERROR_${names[code]}`} (${code})`;

/** A call that ended with an error. `log` is what the driver's compiler printed. */
export class CudaError extends Error {
  readonly call: CudaFunctionName;
  readonly code: number;
  readonly log: string | undefined;

  constructor(call: CudaFunctionName, code: number, log?: string) {
    super(`${call} failed: ${cudaCodeName(code)}`);
    this.call = call;
    this.code = code;
    this.log = log;
  }
}

/** Paths of the driver's library to try if the loader does not find it by name. */
export const usualCudaPaths: readonly string[] =
  process.platform === "win32"
    ? ["nvcuda.dll"]
    : [
        "libcuda.so.1",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
        "/usr/lib64/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
        "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/run/nvidia/driver/usr/lib64/libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1",
      ];

export interface CudaLibrary {
  readonly cuda: Cuda;
  /** Returns the address of a buffer, for structures that contain pointers. */
  readonly addressOf: (buffer: Buffer) => bigint;
}

export async function loadCuda(paths: readonly string[]): Promise<CudaLibrary> {
  const { functions } = await loadLibrary(paths, signatures, cudaCode.notFound);
  const { default: koffi } = await import("koffi");
  return { cuda: functions, addressOf: (buffer) => koffi.address(buffer) };
}
