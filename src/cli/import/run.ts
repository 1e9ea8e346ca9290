/** Runs `gpulse import`: file by file, batch by batch, each acknowledged before the next; skipped data is reported. */
import { clientAccess, defaultHubUrl } from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { countOf, formatCount } from "../command/quantity.ts";
import { resolveSettings, type Settings } from "../command/settings.ts";
import { GpulseError, systemCode } from "../../base/error.ts";
import { openHistory } from "../../hub/compose/serve.ts";
import { unreadable } from "./detect.ts";
import { type ImportFlags, openImportSource, resumeFileOf, sameImport } from "./options.ts";
import { type ImportSource, SkippedSamples } from "./source.ts";
import { importKey, ResumeFile } from "./resume.ts";
import { dryTarget, folderTarget, HubTarget, type ImportTarget } from "./target.ts";

interface ImportSummary {
  readonly file: string;
  readonly format: string;
  samples: number;
  kept: number;
  refused: number;
  /** The reason the receiver gave. */
  refusals: string[];
  fromTime: string | null;
  toTime: string | null;
  resumed: boolean;
  complete: boolean;
  skipped: ReturnType<SkippedSamples["list"]>;
}

const maxListedRefusals = 5;

export async function runImport(
  files: readonly string[],
  flags: ImportFlags,
  io: CommandIo,
): Promise<number> {
  if (flags.url !== undefined && flags.data !== undefined)
    throw new GpulseError(
      "USAGE",
      "Pass --url for a running hub or --data for a data folder, not both.",
    );
  const settings = await resolveSettings("hub", { logLevel: "warn", ...flags }, io.env);
  const stop = new AbortController();
  void io.stopped().then(() => stop.abort());
  const target = await openTarget(flags, settings, io);
  const progress = new Progress(io.stderr, Date.now, flags.json === true);
  const resume = new ResumeFile(resumeFileOf(flags, settings, io.env));
  const summaries: ImportSummary[] = [];
  try {
    for (const file of files) {
      const skipped = new SkippedSamples();
      const note = (sentence: string): void => {
        progress.clear();
        io.stderr.write(`${file}: ${sentence}\n`);
      };
      const reading = openImportSource(file, { flags, settings, nowMs: Date.now(), skipped, note });
      const summary = newSummary(file, reading);
      summaries.push(summary);
      const key = importKey(file, target.place, sameImport(flags, settings.hostName));
      await importOne(reading, {
        summary,
        skipped,
        target,
        key,
        progress,
        signal: stop.signal,
        ...(flags.dryRun === true ? {} : { resume }),
      }).catch((thrown: unknown) => {
        throw thrown instanceof GpulseError || systemCode(thrown) === undefined
          ? thrown
          : unreadable(file, thrown);
      });
      progress.clear();
      if (flags.json !== true)
        io.stdout.write(formatImportSummary(summary, target, flags.dryRun === true));
      if (stop.signal.aborted) break;
    }
  } finally {
    progress.clear();
    await target.close();
  }
  if (flags.json === true)
    io.stdout.write(
      `${JSON.stringify({ target: target.place, dryRun: flags.dryRun === true, files: summaries }, null, 2)}\n`,
    );
  if (stop.signal.aborted)
    io.stderr.write(
      "gpulse: the import was interrupted. Run the same command again to resume it.\n",
    );
  return summaries.length === files.length && summaries.every(isGood) ? 0 : 1;
}

const isGood = ({ complete, refused }: ImportSummary): boolean => complete && refused === 0;

interface Work {
  readonly summary: ImportSummary;
  readonly skipped: SkippedSamples;
  readonly target: ImportTarget;
  readonly resume?: ResumeFile;
  readonly key: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function importOne(reading: ImportSource, work: Work): Promise<void> {
  const { summary, skipped, target, resume, key, progress, signal } = work;
  const after = resume?.position(key) ?? -1;
  summary.resumed = after >= 0;
  try {
    for await (const { batch, position, fraction } of reading.pieces(after, signal)) {
      if (batch.sampleCount > 0) {
        const { kept, refused, reason: why } = await target.write(batch, signal);
        summary.samples += batch.sampleCount;
        summary.kept += kept;
        summary.refused += refused;
        if (
          why !== undefined &&
          summary.refusals.length < maxListedRefusals &&
          !summary.refusals.includes(why)
        )
          summary.refusals.push(why);
        spread(summary, batch.times);
      }
      resume?.advance(key, position, Date.now());
      progress.show({
        name: summary.file,
        fraction,
        count: summary.samples,
        unit: "sample",
      });
    }
    summary.complete = true;
    resume?.finish(key);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    summary.skipped = skipped.list();
  }
}

function spread(summary: ImportSummary, times: Float64Array): void {
  let [low, high] = [summary.fromTime, summary.toTime].map((text) =>
    text === null ? undefined : Date.parse(text),
  );
  for (const timeMs of times) {
    if (low === undefined || timeMs < low) low = timeMs;
    if (high === undefined || timeMs > high) high = timeMs;
  }
  summary.fromTime = isoOf(low);
  summary.toTime = isoOf(high);
}

const isoOf = (timeMs: number | undefined): string | null =>
  timeMs === undefined || Math.abs(timeMs) > 8.64e15 ? null : new Date(timeMs).toISOString();

async function openTarget(
  flags: ImportFlags,
  settings: Settings,
  io: CommandIo,
): Promise<ImportTarget> {
  if (flags.dryRun === true) return dryTarget;
  if (flags.data !== undefined) {
    const storage = await openHistory(settings, io, commandLog(io, "error", false));
    return folderTarget(storage.history);
  }
  const given = flags.url ?? defaultHubUrl;
  if (!URL.canParse(given) || !/^https?:\/\//.test(given))
    throw new GpulseError("USAGE", `--url must be a URL such as ${defaultHubUrl}, not "${given}".`);
  return new HubTarget(new URL(given), clientAccess(flags, io.env));
}

const newSummary = (file: string, { format }: ImportSource): ImportSummary => ({
  file: file.replace(/\/\/[^/@]*@/, "//"),
  format,
  samples: 0,
  kept: 0,
  refused: 0,
  refusals: [],
  fromTime: null,
  toTime: null,
  resumed: false,
  complete: false,
  skipped: [],
});

function formatImportSummary(
  summary: ImportSummary,
  { place }: ImportTarget,
  dry: boolean,
): string {
  const { file, format, samples, kept, refused, refusals, fromTime, toTime, skipped, resumed } =
    summary;
  const range = fromTime === null ? "" : `, ${fromTime} to ${toTime}`;
  const what = dry
    ? `${countOf(samples, "sample")} would be imported`
    : `${countOf(kept, "sample")} stored in ${place}`;
  const lines = [`${file} (${format}): ${what}${resumed ? ", resumed" : ""}${range}`];
  if (refused > 0) lines.push(`  ${formatCount(refused)} rejected: ${refusals.join("; ")}`);
  for (const { reason, count: times, lines: where } of skipped)
    lines.push(
      `  ${formatCount(times)} skipped: ${reason}${where.length === 0 ? "" : ` (line ${where.join(", ")}${times > where.length ? ", …" : ""})`}`,
    );
  return `${lines.join("\n")}\n`;
}
