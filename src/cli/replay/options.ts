/** The validated flags of `gpulse replay`: speed, start and end, and the file. */
import { existsSync, statSync } from "node:fs";
import type { FlagValues } from "../command/settings.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import { parseTimeMs } from "../../config/time.ts";
import type { ReplayBound } from "../../pipeline/replay/paced.ts";
import { sources } from "../../sources/list.ts";
import type { SourceSpec } from "../../sources/open.ts";
import { detectFormat } from "../import/detect.ts";
import type { RuleFlags, TuningFlags } from "../pipe/options.ts";

export interface ReplayFlags extends FlagValues, TuningFlags, RuleFlags {
  readonly json?: boolean;
  readonly speed?: string;
  readonly loop?: boolean;
  readonly start?: string;
  readonly end?: string;
  readonly now?: boolean;
  readonly gpuName?: string;
  readonly vendor?: string;
  readonly gpu?: string;
  readonly uuid?: string;
  readonly timezone?: string;
}

export function speedOf(given: string | undefined): number {
  if (given === undefined) return 1;
  if (given === "max") return Infinity;
  const speed = /^\d+(\.\d+)?x?$/.test(given) ? Number.parseFloat(given) : Number.NaN;
  if (speed >= 0.001 && speed <= 1_000_000) return speed;
  throw new GpulseError(
    "USAGE",
    `--speed takes a number from 0.001 to 1000000, such as 2 for twice as fast, or max, not "${given}".`,
  );
}

/** A duration is relative to the first frame. */
export function boundOf(flag: string, given: string | undefined): ReplayBound | undefined {
  if (given === undefined) return undefined;
  const offset = /[a-z]$/.test(given) ? parseDurationMs(given) : undefined;
  if (offset !== undefined) return { kind: "offset", ms: offset };
  const time = parseTimeMs(given);
  if (time !== undefined) return { kind: "time", ms: time };
  throw new GpulseError(
    "USAGE",
    `${flag} takes a time such as 2026-01-31T12:00:00Z, or how long after the first frame, such as 10m, not "${given}".`,
  );
}

/** A source by its URL, or the source for this file format. */
export function sourceOf(file: string, flags: ReplayFlags): SourceSpec {
  const scheme = /^([a-z][a-z0-9+.-]+):/.exec(file)?.[1];
  if (scheme !== undefined && !existsSync(file) && sources.some(({ name }) => name === scheme))
    return file;
  const format = formatOf(file);
  const definition = sources.find(({ name }) => name === format);
  if (definition?.mainOption === undefined)
    throw new GpulseError(
      "FILE_FORMAT",
      `${file} cannot be replayed. Pass a GPU-Z log, a gpulse CSV, Parquet or a recorded run, or name the source, such as gpuz:FILE.`,
    );
  return {
    [format]: {
      [definition.mainOption]: file,
      ...(format === "gpuz" && gpuzOptions(flags)),
      // A lake's long table follows a day's GPUs: its timestamps would go back, and reading the day would take twice as long.
      ...(format === "parquet" && { series: false }),
    },
  };
}

function formatOf(file: string): string {
  if (/\.parquet$/i.test(file)) return "parquet";
  if (/\.gpulserun$/i.test(file)) return "run";
  if (existsSync(file) && statSync(file).isDirectory()) return "parquet";
  try {
    return detectFormat(file);
  } catch (thrown) {
    // More formats can be imported than replayed, and its error would name the wrong flag.
    if (thrown instanceof GpulseError && thrown.code === "FILE_FORMAT") return "";
    throw thrown;
  }
}

function gpuzOptions(flags: ReplayFlags): Readonly<Record<string, string>> {
  const { gpuName, vendor, gpu, uuid, timezone } = flags;
  const given = { "gpu-name": gpuName, vendor, gpu, uuid, timezone };
  return Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}
