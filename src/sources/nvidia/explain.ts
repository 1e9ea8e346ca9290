/** Explains why NVIDIA's GPUs cannot be read, in one sentence with the command or container flag that fixes it. Pure. */
import { formatError } from "../../base/error.ts";
import type { Device } from "../../model/device.ts";
import type { DoctorFinding } from "../source.ts";
import { code } from "./nvml/codes.ts";
import type { NvmlFailure } from "./protocol.ts";
import { SmiError } from "./smi/run.ts";

/** The state of the driver, without loading anything. */
export interface DriverEnvironment {
  /** True if the kernel module is loaded: its /proc folder exists. */
  readonly module: boolean;
  /** Whether /dev/nvidiactl can be opened, is denied, or is missing. */
  readonly control: "open" | "denied" | "missing";
  readonly container: boolean;
}

type Explanation = Pick<DoctorFinding, "state" | "says" | "fix">;

const inContainer =
  "Give the container the GPUs: docker run --gpus all … (Kubernetes: runtimeClassName: nvidia, and NVIDIA_VISIBLE_DEVICES=all).";

/** Adds nvidia-smi's result if NVML cannot be used: its GPUs or its error; nothing if nvidia-smi is not installed. */
export function withSmi(
  finding: DoctorFinding,
  devices: readonly Device[],
  error?: unknown,
): DoctorFinding {
  // nvidia-smi is installed, so this is not a machine without a driver.
  const why = finding.state === "not-found" ? "The NVIDIA library is not here." : finding.says;
  if (error === undefined) {
    const gpus = devices.filter(({ parent }) => parent === undefined).length;
    return { ...finding, state: "found", says: `${gpus} through nvidia-smi. ${why}`, devices };
  }
  const says = withSmiError(why, error);
  if (says === why) return finding;
  return { ...finding, state: finding.state === "not-found" ? "failed" : finding.state, says };
}

/** Appends nvidia-smi's own error to the finding about NVML; nothing if nvidia-smi is not installed. */
export function withSmiError(says: string, error: unknown): string {
  if (error instanceof SmiError && error.missing) return says;
  const reason = formatError(error).replace(/\.$/, "");
  return `${says} ${reason}.`.trimStart();
}

export function explain(problem: NvmlFailure, around: DriverEnvironment): Explanation {
  switch (problem.stage) {
    case "koffi":
      return {
        state: "failed",
        says: `The package koffi, through which NVML is called, is not installed or does not load (${problem.detail}).`,
        fix: "Install it beside gpulse: npm install koffi",
      };
    case "library":
      return withoutLibrary(problem, around);
    case "refused":
      return {
        state: "failed",
        says: `The NVIDIA library is here, but it does not load: ${problem.detail}.`,
        fix: "Install the library of the loaded driver for this machine's architecture, or pass another file: --source nvidia:?library=/path/libnvidia-ml.so.1",
      };
    case "asleep":
      return {
        state: "found",
        says: "The NVIDIA GPU is asleep, and left asleep: it is read when something else wakes it.",
      };
    case "worker":
      return { state: "failed", says: `NVML cannot be read: ${problem.detail}.` };
    case "init":
      return initFailed(problem, around);
  }
}

function withoutLibrary(
  { detail }: NvmlFailure,
  { module, control, container }: DriverEnvironment,
): Explanation {
  if (!module && control === "missing")
    return {
      state: "not-found",
      says:
        detail === ""
          ? "No NVIDIA driver here: no library, no device, no kernel module."
          : `No NVIDIA driver here: no device, no kernel module, and the library does not load (${detail}).`,
    };
  if (container)
    return {
      state: "failed",
      says: "The host has an NVIDIA driver, but its library libnvidia-ml.so.1 is not in this container.",
      fix: `${inContainer} NVIDIA_DRIVER_CAPABILITIES must hold utility.`,
    };
  return {
    state: "failed",
    says: `An NVIDIA driver is loaded, but its library cannot be (${detail}).`,
    fix: "Install the driver's own utilities (Debian, Ubuntu: nvidia-utils-NNN, or libnvidia-ml1), or name the file: --source nvidia:?library=/path/libnvidia-ml.so.1",
  };
}

function initFailed({ code: got, detail }: NvmlFailure, around: DriverEnvironment): Explanation {
  if (around.control === "denied" || got === code.noPermission)
    return {
      state: "denied",
      says: "This user may not open /dev/nvidiactl.",
      fix: "Add the user to the device's group (ls -l /dev/nvidiactl shows it): sudo usermod -aG video $USER, then log in again; in a container add --group-add with that group's number.",
    };
  if (got === code.versionMismatch)
    return {
      state: "failed",
      says: "The driver in the kernel and the driver's library are of different versions: it was updated and not loaded again.",
      fix: "Reboot; or stop what uses the GPUs and run: sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia",
    };
  if (got === code.driverNotLoaded && around.container && !around.module)
    return {
      state: "failed",
      says: "The NVIDIA library is here, but no GPU is visible in this container.",
      fix: inContainer,
    };
  if (got === code.driverNotLoaded)
    return {
      state: "failed",
      says: "The NVIDIA library is installed, but its kernel module is not loaded.",
      fix: "Load it: sudo modprobe nvidia; dmesg shows why where that fails.",
    };
  return {
    state: "failed",
    says: `NVML does not start: ${detail}.`,
    fix: "Run nvidia-smi: it prints NVIDIA's own error.",
  };
}
