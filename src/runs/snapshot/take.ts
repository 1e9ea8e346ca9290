/** Takes a snapshot: the machine's files and the GPUs' newest readings, at one moment. Changes nothing and wakes no GPU. */
import { readText } from "../../machine/sysfs/read.ts";
import { readContainer, readHidden } from "../../machine/container.ts";
import { readBoard, readNetwork, readStorage } from "../../machine/devices.ts";
import { driverFiles } from "../../machine/driver-files.ts";
import { type Machine, MissingFacts, optionalFact } from "../../machine/machine.ts";
import { readKernel } from "../../machine/kernel.ts";
import { readMemory } from "../../machine/memory.ts";
import { readProcessor } from "../../machine/processor.ts";
import { parseMeminfo } from "../../machine/proc.ts";
import { readOs, readSoftware } from "../../machine/software.ts";
import { errorCounts } from "./errors.ts";
import {
  type GpuExtra,
  gpuFacts,
  gpuReadings,
  type GpuView,
  peersOf,
  processesOf,
} from "../../machine/snapshot-gpu.ts";
import { p2pLinks } from "./p2p-links.ts";
import { readVisibility } from "../../machine/visibility.ts";
import {
  type GpuProcessReading,
  type Snapshot,
  snapshotFormat,
  snapshotVersion,
} from "../../machine/snapshot.ts";

/** Facts from a driver's own tool or library, besides the readings. */
export interface DriverFacts {
  readonly versions: Readonly<Record<string, string>>;
  readonly gpus: ReadonlyMap<string, GpuExtra>;
  /** Used for GPUs whose source reports no process names. */
  readonly processes: readonly GpuProcessReading[];
}

export interface SnapshotInput {
  readonly machine: Machine;
  readonly gpus: readonly GpuView[];
  readonly host: string;
  readonly nowMs: number;
  /** The version of gpulse. */
  readonly version: string;
  readonly label?: string;
  readonly driverFacts?: DriverFacts;
}

export async function takeSnapshot(input: SnapshotInput): Promise<Snapshot> {
  const { machine, gpus, driverFacts } = input;
  const missing = new MissingFacts();
  const described = await Promise.all(
    gpus.map(async (view) => {
      const files = await driverFiles(machine, view.device, missing);
      return gpuFacts(view, { ...files, ...driverFacts?.gpus.get(view.device.uuid) }, missing);
    }),
  );
  const peers = gpus.map((view) => [view.device.uuid, peersOf(view, missing)] as const);
  const p2p = Object.fromEntries(peers.filter(([, all]) => Object.keys(all).length > 0));
  const facts = {
    gpus: described,
    p2p,
    p2pLinks: p2pLinks(gpus, described, p2p),
    board: await readBoard(machine, missing),
    processor: await readProcessor(machine, missing),
    memory: await readMemory(machine, missing),
    storage: await readStorage(machine, missing),
    network: await readNetwork(machine, missing),
    os: await readOs(machine, missing),
    kernel: await readKernel(machine, missing),
    container: await readContainer(machine, missing),
  };
  const real = gpus.filter(({ device }) => !device.simulated);
  const vendors = new Set(real.map(({ device }) => device.vendor));
  if (driverFacts === undefined && vendors.has("nvidia")) noteUnreported(real, missing);
  const software = await readSoftware(machine, vendors, driverFacts?.versions ?? {}, missing);
  return {
    format: snapshotFormat,
    version: snapshotVersion,
    takenAt: new Date(input.nowMs).toISOString(),
    gpulse: input.version,
    host: input.host,
    ...optionalFact("label", input.label),
    simulated: gpus.some(({ device }) => device.simulated),
    facts: { ...facts, software },
    readings: {
      gpus: gpus.map((view) => ({
        ...gpuReadings(view),
        ...optionalFact("errors", errorCounts(view)),
      })),
      processes: processesNow(gpus, driverFacts?.processes ?? []),
      host: await hostReadings(machine),
    },
    hidden: await readHidden(machine, facts),
    visibility: await readVisibility(machine, { ...facts, software }, missing),
    missing: missing.list(),
  };
}

/** Notes facts that only the driver's own tool reports, in a snapshot taken without it. */
function noteUnreported(real: readonly GpuView[], missing: MissingFacts): void {
  for (const { device } of real) {
    if (device.vendor !== "nvidia") continue;
    missing.note(`gpus.${device.uuid}.firmware`, "not-read");
    missing.note(`gpus.${device.uuid}.clocks.applicationHertz`, "not-read");
  }
  missing.note("software.versions.cuda_driver", "not-read");
}

function processesNow(
  gpus: readonly GpuView[],
  driverFacts: readonly GpuProcessReading[],
): GpuProcessReading[] {
  const bySource = gpus.flatMap(processesOf);
  const named = new Set(bySource.map(({ uuid }) => uuid));
  const here = new Set(gpus.map(({ device }) => device.uuid));
  return [
    ...bySource,
    ...driverFacts.filter(({ uuid }) => here.has(uuid) && !named.has(uuid)),
  ].toSorted((a, b) => (a.uuid < b.uuid ? -1 : a.uuid > b.uuid ? 1 : a.pid - b.pid));
}

async function hostReadings({
  procfs,
  fileAccess,
}: Machine): Promise<Snapshot["readings"]["host"]> {
  const [memory, load, boot] = await Promise.all([
    readText(`${procfs}/meminfo`, 8_192, fileAccess),
    readText(`${procfs}/loadavg`, 256, fileAccess),
    readText(`${procfs}/sys/kernel/random/boot_id`, 64, fileAccess),
  ]);
  const load1 = load.ok ? Number(load.value.split(" ", 1)[0]) : Number.NaN;
  return {
    ...optionalFact(
      "memoryAvailableBytes",
      memory.ok ? parseMeminfo(memory.value).get("MemAvailable") : undefined,
    ),
    ...optionalFact("load1", Number.isFinite(load1) ? load1 : undefined),
    ...optionalFact("bootId", boot.ok && boot.value !== "" ? boot.value : undefined),
  };
}
