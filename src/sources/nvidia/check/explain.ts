/** Explains an error of the CUDA driver during a check in one sentence, with the fix. Pure. */
import { cudaCode, cudaCodeName, type CudaError } from "./cuda.ts";
import type { CheckEnd } from "./protocol.ts";

/** The driver's compiler prints a line per problem; the first lines name the cause. */
const logLines = 3;

/** @param isOpen true if the GPU had been opened: our kernels are known to be correct, so the failure is the GPU's */
export function explainCudaError(error: CudaError, isOpen: boolean): CheckEnd {
  const { code, call, log } = error;
  if (call === "cuModuleLoadDataEx") return explainCompile(error, log ?? "");
  if (code === cudaCode.outOfMemory)
    return {
      state: "unavailable",
      says: `Not enough free memory on the GPU (${error.message}).`,
      fix: "Find the process that uses it with nvidia-smi, and run the check again.",
    };
  if (code === cudaCode.deviceUnavailable)
    return {
      state: "busy",
      says: `The GPU is in use (${error.message}): it is in exclusive or prohibited compute mode.`,
      fix: "Wait for the other program, or look at the compute mode: nvidia-smi -q -d COMPUTE",
    };
  if (callerCodes.has(code))
    return {
      state: "unavailable",
      says: `The driver refused a call: ${error.message}.`,
      fix: "This is a bug in gpulse: report it with this message.",
    };
  if (isOpen)
    return {
      state: "failed",
      says:
        code === cudaCode.eccUncorrectable
          ? `The GPU has an uncorrectable memory error (${error.message}).`
          : `The GPU failed under load: ${error.message}.`,
      fix: "Look for Xid lines in dmesg and at gpulse doctor; reset the GPU, and replace it if this comes back.",
    };
  const fix = openingFix[code];
  return {
    state: "unavailable",
    says: `The CUDA driver does not start: ${call} returned ${cudaCodeName(code)}.`,
    ...(fix === undefined ? {} : { fix }),
  };
}

/**
 * INVALID_VALUE, NOT_INITIALIZED, INVALID_CONTEXT, INVALID_HANDLE, NOT_FOUND, LAUNCH_OUT_OF_RESOURCES: bugs of the caller, not
 * faults of the GPU.
 */
const callerCodes: ReadonlySet<number> = new Set([1, 3, 201, 400, 500, 701]);

const openingFix: Readonly<Record<number, string>> = {
  [cudaCode.noDevice]:
    "No GPU is visible to CUDA here: in a container pass --gpus all; elsewhere look at CUDA_VISIBLE_DEVICES and dmesg.",
  [cudaCode.systemNotReady]:
    "The NVLink fabric is not ready: start the fabric manager (sudo systemctl start nvidia-fabricmanager).",
  [cudaCode.driverMismatch]:
    "The driver in the kernel and its library are of different versions: reboot after an update.",
  [cudaCode.unknown]:
    "The module nvidia_uvm may be missing: sudo modprobe nvidia_uvm; dmesg shows why where that fails.",
};

function explainCompile(error: CudaError, log: string): CheckEnd {
  const lines = log.split("\n").filter((line) => line.trim() !== "");
  const detail = lines.length === 0 ? "" : `: ${lines.slice(0, logLines).join(" | ")}`;
  return {
    state: "unavailable",
    says: `The driver could not compile the load (${error.message})${detail}.`,
    fix: "Update the NVIDIA driver; if it is current, this is a bug in gpulse: report it with this message.",
  };
}
