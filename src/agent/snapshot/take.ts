/** Takes snapshots of this machine from a running collector: its newest readings, the kernel's files, and the output of nvidia-smi. */
import { machine as architecture } from "node:os";
import type { Log } from "../../base/log.ts";
import { formatError } from "../../base/error.ts";
import { SmiRunner } from "../../sources/nvidia/smi/run.ts";
import { type FileAccess, hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { GpuView } from "../../machine/snapshot-gpu.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { type DriverFacts, takeSnapshot } from "../../runs/snapshot/take.ts";
import { parseSmiFacts } from "./nvidia-smi.ts";

export interface SnapshotSettings {
  readonly hostName: string;
  readonly procfs: string;
  readonly sysfs: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly fileAccess?: FileAccess;
  /** The command to run for NVIDIA GPUs; killed after `smiDeadlineMs`. */
  readonly smi?: string;
}

export type TakeSnapshot = () => Promise<Snapshot>;

/** Deadline of nvidia-smi, so that a hanging driver does not block the snapshot. */
const smiDeadlineMs = 10_000;

/** `views` is called when a snapshot is taken. Concurrent callers share one snapshot. */
export function createSnapshotTaker(
  views: () => readonly GpuView[],
  settings: SnapshotSettings,
): TakeSnapshot {
  const {
    hostName: host,
    procfs,
    sysfs,
    env,
    version,
    nowMs,
    fileAccess = hostFileAccess,
  } = settings;
  const runner = new SmiRunner({
    command: settings.smi ?? "nvidia-smi",
    deadlineMs: smiDeadlineMs,
    nowMs,
  });
  const take = async (): Promise<Snapshot> => {
    const hasNvidia = views().some(({ device }) => device.vendor === "nvidia" && !device.simulated);
    const reported = hasNvidia ? await askSmi(runner, settings.log) : undefined;
    const machine = { procfs, sysfs, fileAccess, env, architecture: architecture() };
    const gpus = views();
    return takeSnapshot({
      machine,
      gpus,
      host,
      version,
      nowMs: nowMs(),
      ...(reported === undefined ? {} : { driverFacts: reported }),
    });
  };
  let running: Promise<Snapshot> | undefined;
  return () => {
    running ??= take().finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function askSmi(runner: SmiRunner, log: Log): Promise<DriverFacts | undefined> {
  try {
    return parseSmiFacts(await runner.run(["-q", "-x"]));
  } catch (thrown) {
    log.warn("nvidia-smi did not answer: the snapshot is without CUDA version and firmware", {
      error: formatError(thrown),
    });
    return undefined;
  }
}
