/** Runs `gpulse snapshot`: save, show, diff, mlperf. */
import { rename, rm, writeFile } from "node:fs/promises";
import type { ClientFlags } from "../command/client.ts";
import { type CommandIo, usesColour } from "../command/io.ts";
import { countOf } from "../command/quantity.ts";
import type { FlagValues } from "../command/settings.ts";
import { GpulseError, systemCode } from "../../base/error.ts";
import { describeForMlperf } from "../../runs/mlperf/describe.ts";
import { diffSnapshots } from "../../runs/snapshot/diff.ts";
import { parseSnapshot } from "../../runs/snapshot/parse.ts";
import {
  defaultThresholds,
  type Snapshot,
  type SnapshotThresholds,
} from "../../machine/snapshot.ts";
import { readFileBounded } from "./file.ts";
import { fetchSnapshot, takeLocalSnapshot } from "./obtain.ts";
import { formatSnapshotDiff } from "./format-diff.ts";
import { formatSnapshot } from "./format-snapshot.ts";

export interface SaveFlags extends FlagValues, ClientFlags {
  readonly url?: string;
  readonly label?: string;
  readonly window?: string;
  readonly json?: boolean;
}

export interface SnapshotShowFlags {
  readonly json?: boolean;
}

export interface DiffFlags extends SnapshotShowFlags {
  readonly memoryThreshold?: string;
  readonly powerThreshold?: string;
}

export async function saveSnapshot(file: string, flags: SaveFlags, io: CommandIo): Promise<number> {
  const unlabelled =
    flags.url === undefined
      ? await takeLocalSnapshot(flags, io)
      : await fetchSnapshot(flags.url, flags, io);
  const snapshot: Snapshot =
    flags.label === undefined ? unlabelled : { ...unlabelled, label: flags.label.slice(0, 200) };
  const text = `${JSON.stringify(snapshot, null, 2)}\n`;
  if (file === "-") io.stdout.write(text);
  else {
    await writeWhole(file, text);
    const gpus = snapshot.facts.gpus.length;
    const takenAt = new Date(snapshot.takenAt).toISOString();
    const summary = { file, host: snapshot.host, gpus, simulated: snapshot.simulated, takenAt };
    io.stdout.write(
      flags.json === true
        ? `${JSON.stringify(summary, null, 2)}\n`
        : `${file}: ${snapshot.host} with ${countOf(gpus, snapshot.simulated ? "simulated GPU" : "GPU")}, ${takenAt}\n`,
    );
  }
  if (snapshot.facts.gpus.length === 0)
    io.stderr.write("gpulse: the snapshot contains no GPU. Run gpulse doctor to see why.\n");
  return 0;
}

/** Writes atomically: a partial snapshot proves nothing. */
async function writeWhole(file: string, text: string): Promise<void> {
  const next = `${file}.tmp`;
  try {
    await writeFile(next, text);
    await rename(next, file);
  } catch (thrown) {
    await rm(next, { force: true }).catch(() => undefined);
    throw new GpulseError(
      "FILE_UNREADABLE",
      `Cannot write ${file} (${systemCode(thrown) ?? "error"}). Choose another path.`,
      { cause: thrown },
    );
  }
}

export async function showSnapshot(
  file: string,
  flags: SnapshotShowFlags,
  io: CommandIo,
): Promise<number> {
  const snapshot = await readSnapshot(file);
  io.stdout.write(
    flags.json === true
      ? `${JSON.stringify(snapshot, null, 2)}\n`
      : formatSnapshot(snapshot, usesColour(io.stdout, io.env)),
  );
  return 0;
}

export async function diffFiles(
  first: string,
  second: string,
  flags: DiffFlags,
  io: CommandIo,
): Promise<number> {
  const thresholds = thresholdsOf(flags);
  const [before, after] = [await readSnapshot(first), await readSnapshot(second)];
  const diff = diffSnapshots(before, after, thresholds);
  io.stdout.write(
    flags.json === true
      ? `${JSON.stringify(diff, null, 2)}\n`
      : formatSnapshotDiff(diff, before, after, usesColour(io.stdout, io.env)),
  );
  return diff.verdict === "same" ? 0 : 1;
}

export async function printMlperf(
  file: string,
  flags: SnapshotShowFlags,
  io: CommandIo,
): Promise<number> {
  const described = describeForMlperf(await readSnapshot(file));
  const { system, missing, warnings } = described;
  io.stdout.write(`${JSON.stringify(flags.json === true ? described : system, null, 2)}\n`);
  if (flags.json === true) return 0;
  for (const warning of warnings) io.stderr.write(`gpulse: ${warning}\n`);
  if (missing.length === 0) return 0;
  const width = Math.max(...missing.map(({ field }) => field.length));
  io.stderr.write(`\nMissing, ${missing.length} of ${Object.keys(system).length} fields:\n`);
  for (const { field, why } of missing) io.stderr.write(`  ${field.padEnd(width)}  ${why}\n`);
  return 0;
}

async function readSnapshot(file: string): Promise<Snapshot> {
  return parseSnapshot(await readFileBounded(file), file);
}

const units: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

function thresholdsOf({ memoryThreshold, powerThreshold }: DiffFlags): SnapshotThresholds {
  const size = /^(\d{1,12}(?:\.\d{1,6})?)\s*([kmg]?i?b|)$/i.exec(memoryThreshold ?? "256MiB");
  const unit = units[size?.[2]?.toLowerCase() ?? "none"];
  if (size === null || unit === undefined)
    throw new GpulseError(
      "USAGE",
      `--memory-threshold must be a size such as 256MiB or 1GiB, not "${memoryThreshold ?? ""}".`,
    );
  const watts = /^(\d{1,6}(?:\.\d{1,3})?)\s*w?$/i.exec(powerThreshold ?? "0");
  if (watts === null)
    throw new GpulseError(
      "USAGE",
      `--power-threshold must be a number of watts such as 50, not "${powerThreshold ?? ""}".`,
    );
  return {
    ...defaultThresholds,
    memoryBytes: Number(size[1]) * unit,
    ...(powerThreshold === undefined ? {} : { powerWatts: Number(watts[1]) }),
  };
}
