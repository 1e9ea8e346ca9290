/** Runs `gpulse lake`. */
import { GpulseError } from "../../base/error.ts";
import { readHistory } from "../../lake/history.ts";
import { openLakeWorker } from "../../lake/job.ts";
import type { OffsetRange } from "../../lake/names.ts";
import { Upkeep } from "../../lake/upkeep.ts";
import { type LakeReport, verifyLake } from "../../lake/verify.ts";
import { openFiles } from "../../net/objects/open.ts";
import type { FileStore } from "../../net/objects/store.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { countOf, formatBytes, formatCount } from "../command/quantity.ts";
import { alignColumns } from "../table.ts";

export interface VerifyFlags {
  readonly quick?: boolean;
  readonly json?: boolean;
}
export interface LakeHistoryFlags {
  readonly limit?: string;
  readonly json?: boolean;
}
export interface CompactFlags {
  readonly rows?: string;
  readonly json?: boolean;
}

export const runVerify = (place: string, flags: VerifyFlags, io: CommandIo): Promise<number> =>
  withLake(place, io, async (files, signal) => {
    const progress = new Progress(io.stderr, Date.now, flags.json === true);
    try {
      const report = await verifyLake(files, {
        quick: flags.quick === true,
        onProgress: (fraction) => progress.show({ name: "verify", fraction }),
        signal,
      });
      progress.clear();
      if (report.sequence === 0)
        throw new GpulseError(
          "LAKE_EMPTY",
          `${files.name} has no manifest (_commits): check the address; a lake from before gpulse 0.3 gets one when the next writer starts, or by gpulse lake compact.`,
        );
      if (flags.json === true) printJson(io, { lake: files.name, ...report });
      else io.stdout.write(formatReport(files.name, report));
      return report.problems.length === 0 ? 0 : 1;
    } finally {
      progress.clear();
    }
  });

function formatReport(name: string, report: LakeReport): string {
  const { sequence, problems, offsets, waiting, unchecked } = report;
  const lines = [
    `${name}: ${countOf(report.files, "file")}, ${countOf(report.rows, "row")}, ${formatBytes(report.bytes)} as of commit ${sequence}`,
    ...offsets.map((range) => `  ${formatRange(range)}`),
    ...(waiting > 0 ? [`  ${countOf(waiting, "file")} of a running writer not yet committed`] : []),
    ...unchecked.map(({ day, reason }) => `  ${day} not checked for duplicate rows: ${reason}`),
  ];
  if (problems.length === 0) return `${[...lines, "No problems found."].join("\n")}\n`;
  const rows = problems.map(({ kind, path, message }) => [kind, path, message]);
  return `${[...lines, countOf(problems.length, "problem")].join("\n")}\n${alignColumns([["PROBLEM", "FILE", "DETAIL"], ...rows])}`;
}

export const runHistory = (
  place: string,
  flags: LakeHistoryFlags,
  io: CommandIo,
): Promise<number> =>
  withLake(place, io, async (files, signal) => {
    const commits = await readHistory(files, wholeFlag("--limit", flags.limit, 20, 1), signal);
    if (flags.json === true) printJson(io, { lake: files.name, commits });
    else if (commits.length === 0)
      io.stdout.write(`${files.name} has no commits: check the address.\n`);
    else
      io.stdout.write(
        alignColumns([
          ["COMMIT", "TIME", "OPERATION", "FILES", "ROWS", "SIZE", "OFFSETS"],
          ...commits.map((one) => [
            String(one.sequence),
            new Date(one.timeMs).toISOString(),
            one.operation,
            `+${one.filesAdded} -${one.filesRemoved}`,
            formatCount(one.rows),
            formatBytes(one.bytes),
            one.offsets.map(formatRange).join(", "),
          ]),
        ]),
      );
    return 0;
  });

export const runCompact = (place: string, flags: CompactFlags, io: CommandIo): Promise<number> =>
  withLake(place, io, async (files, signal) => {
    const workers = openLakeWorker();
    try {
      const upkeep = new Upkeep({
        files,
        workers,
        version: io.version,
        id: "compact",
        log: commandLog(io, "warn", false),
        nowMs: Date.now,
        minFiles: 2,
        targetRows: wholeFlag("--rows", flags.rows, 122_880, 1_000),
      });
      const { merged, into } = await upkeep.run(signal);
      if (flags.json === true) printJson(io, { lake: files.name, merged, into });
      else if (into === 0) io.stdout.write(`${files.name}: nothing to merge.\n`);
      else
        io.stdout.write(
          `${files.name}: merged ${countOf(merged, "file")} into ${formatCount(into)}.\n`,
        );
      return 0;
    } finally {
      await workers.close();
    }
  });

async function withLake(
  place: string,
  io: CommandIo,
  work: (files: FileStore, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const files = await openFiles(place, io.env);
  const stopped = new AbortController();
  void io.stopped().then(() => stopped.abort());
  try {
    return await work(files, stopped.signal);
  } finally {
    files.close();
  }
}

const formatRange = ({ log, partition, first, last }: OffsetRange): string =>
  `${log}/${partition} ${first}-${last}`;

function wholeFlag(
  name: string,
  given: string | undefined,
  otherwise: number,
  least: number,
): number {
  if (given === undefined) return otherwise;
  const value = Number(given);
  if (Number.isSafeInteger(value) && value >= least && value <= 10_000_000) return value;
  throw new GpulseError(
    "USAGE",
    `${name} ${given}: give a whole number from ${least} to 10000000.`,
  );
}

function printJson(io: CommandIo, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
