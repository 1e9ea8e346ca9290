/** What `gpulse doctor` says of NVIDIA here. Looks first at files; NVML is asked only where there is a driver, with a deadline. */
import type { DoctorFinding } from "../source.ts";
import type { NvmlConnection } from "./connection.ts";
import { type DriverEnvironment, explain } from "./explain.ts";
import type { WorkerResponse, NvmlInfo } from "./protocol.ts";

export const openDeadlineMs = 5_000;

/** `later` when the promise has not settled in time; it goes on, and nobody waits for it. */
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
  if (answer.kind === "trouble") return explain(answer.problem, around);
  if (answer.kind !== "opened") throw new Error(`BUG: asked to open, was told ${answer.kind}`);
  return describe(answer.opened);
}

function describe({ devices, driver, cuda, library }: NvmlInfo): DoctorFinding {
  if (devices.length === 0)
    return {
      state: "not-found",
      says: `The NVIDIA driver ${driver} is loaded, and lists no GPU.`,
      fix: "In a container: NVIDIA_VISIBLE_DEVICES=all; elsewhere dmesg says whether the driver took the card.",
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
