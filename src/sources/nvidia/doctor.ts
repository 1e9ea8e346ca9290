/** NVIDIA's part of `gpulse doctor`. Checks files first; calls NVML only if there is a driver, with a deadline. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { systemCode } from "../../base/error.ts";
import type { DoctorFinding } from "../source.ts";
import type { NvmlConnection } from "./connection.ts";
import { type DriverEnvironment, explain } from "./explain.ts";
import type { WorkerResponse, NvmlInfo } from "./protocol.ts";

export const openDeadlineMs = 5_000;

/** Resolves to `later` if the promise has not settled in time; the promise goes on unattended. */
export async function within<T>(promise: Promise<T>, deadlineMs: number): Promise<T | "later"> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<"later">((resolve) => {
    timer = setTimeout(() => resolve("later"), deadlineMs);
  });
  return Promise.race([promise, deadline]).finally(() => clearTimeout(timer));
}

export async function examine(
  connection: NvmlConnection,
  around: DriverEnvironment,
): Promise<DoctorFinding> {
  const answer: WorkerResponse | "later" = await within(
    connection.ask({ kind: "open" }),
    openDeadlineMs,
  );
  if (answer === "later")
    return {
      state: "failed",
      says: `The NVIDIA driver does not answer: NVML has not come back for ${openDeadlineMs / 1_000} s.`,
      fix: "Look for Xid lines in dmesg; a GPU that fell off the bus needs a reset (sudo nvidia-smi --gpu-reset) or a reboot.",
    };
  if (answer.kind === "failure") return explain(answer.problem, around);
  if (answer.kind !== "opened") throw new Error(`BUG: sent open, got ${answer.kind}`);
  return describe(answer.opened);
}

function describe({ devices, driver, cuda, library }: NvmlInfo): DoctorFinding {
  if (devices.length === 0)
    return {
      state: "not-found",
      says: `The NVIDIA driver ${driver} is loaded, and lists no GPU.`,
      fix: "In a container: NVIDIA_VISIBLE_DEVICES=all; elsewhere dmesg shows whether the driver bound the card.",
    };
  const models = new Map<string, number>();
  for (const { model } of devices) models.set(model, (models.get(model) ?? 0) + 1);
  const list = [...models].map(([model, count]) => (count === 1 ? model : `${count} × ${model}`));
  const versions = cuda === undefined ? `driver ${driver}` : `driver ${driver}, CUDA ${cuda}`;
  return {
    state: "found",
    says: `${list.join(", ")} (${versions}) through ${library}.`,
    devices,
  };
}

/** Checks the device file, kernel module and container without loading the library or waking a GPU. Tests pass `devices` and `root`. */
export async function probeDriverEnvironment(
  procfs: string,
  devices = "/dev",
  root = "",
): Promise<DriverEnvironment> {
  const exists = async (file: string): Promise<boolean> =>
    access(file).then(
      () => true,
      () => false,
    );
  const control = await access(`${devices}/nvidiactl`, constants.R_OK | constants.W_OK).then(
    (): DriverEnvironment["control"] => "open",
    (thrown: unknown): DriverEnvironment["control"] =>
      systemCode(thrown) === "EACCES" || systemCode(thrown) === "EPERM" ? "denied" : "missing",
  );
  const marks = [
    `${root}/.dockerenv`,
    `${root}/run/.containerenv`,
    `${root}/var/run/secrets/kubernetes.io`,
  ];
  const container = (await Promise.all(marks.map(exists))).some(Boolean);
  return { module: await exists(`${procfs}/driver/nvidia/version`), control, container };
}
