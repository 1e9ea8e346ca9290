/** The validated flags of `gpulse import`, and how to read each file. */
import type { Env } from "../../config/secrets.ts";
import { homedir } from "node:os";
import path from "node:path";
import type { ClientFlags } from "../command/client.ts";
import type { FlagValues, Settings } from "../command/settings.ts";
import { checkValue } from "../../config/check.ts";
import { durationMs, wholeNumber } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { machineZone, parseZone } from "../../formats/gpuz/time.ts";
import { identityOf } from "../../model/identity.ts";
import { parseTimeMs } from "../../config/time.ts";
import { labelSet } from "../../model/labels.ts";
import { parseVendor, type Vendor, vendorChoice } from "../../model/vendor.ts";
import { QueryError } from "../../query/errors.ts";
import { parseSelector } from "../../query/parse/parse.ts";
import type { Matcher } from "../../model/select.ts";
import { openCsvImport } from "./csv.ts";
import { detectFormat, type ImportFormat, importFormats } from "./detect.ts";
import { openExpositionImport, formatOfFile } from "./exposition.ts";
import { openGpuzImport } from "./gpuz.ts";
import { openPrometheusImport } from "./prometheus.ts";
import type { ImportSource, SkippedSamples } from "./source.ts";

export interface ImportFlags extends FlagValues, ClientFlags {
  readonly url?: string;
  readonly format?: string;
  readonly label?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly match?: string;
  readonly gpuName?: string;
  readonly vendor?: string;
  readonly gpu?: string;
  readonly uuid?: string;
  readonly timezone?: string;
  readonly resumeFile?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const longestMs = 100 * 365 * 86_400_000;
const defaultSince = "30d";

export interface ImportSourceOptions {
  readonly flags: ImportFlags;
  readonly settings: Settings;
  readonly nowMs: number;
  readonly skipped: SkippedSamples;
  readonly note: (sentence: string) => void;
}

export function openImportSource(what: string, options: ImportSourceOptions): ImportSource {
  const { flags, settings, skipped, note } = options;
  const set = readLabels(flags.label);
  const format = readFormat(flags.format) ?? detectFormat(what);
  if (format === "prometheus")
    return openPrometheusImport({
      ...readWindow(options),
      url: what.replace(/^prometheus\+/, ""),
      set,
    });
  if (format === "csv") return openCsvImport({ file: what, set, skipped });
  if (format === "gpuz")
    return openGpuzImport({
      file: what,
      zone: readZone(flags.timezone),
      gpuName: flags.gpuName,
      vendor: readVendor(flags.vendor),
      uuid: flags.uuid,
      index: readIndex(flags.gpu),
      host: settings.hostName,
      extra: labelSet(Object.fromEntries(identityOf(settings.hostName))),
      set,
      skipped,
      note,
    });
  const kind = flags.format === undefined ? formatOfFile(what) : format;
  return openExpositionImport({ file: what, format: kind, set, skipped });
}

/** Identifies an import for resuming, besides the file and the target. */
export const sameImport = (
  { format, label, since, until, match, gpuName, vendor, gpu, uuid, timezone }: ImportFlags,
  host: string,
): unknown => [format, label, since, until, match, gpuName, vendor, gpu, uuid, timezone, host];

/** Default resume file: beside the data folder, or in the user's state folder. */
export function resumeFileOf(flags: ImportFlags, settings: Settings, env: Env): string {
  if (flags.resumeFile !== undefined) return flags.resumeFile;
  if (flags.data !== undefined) return `${settings.dataDir.replace(/[/\\]+$/, "")}.import.json`;
  const state = env["XDG_STATE_HOME"] ?? "";
  return path.join(
    state === "" ? path.join(homedir(), ".local", "state") : state,
    "gpulse",
    "import.json",
  );
}

function readLabels(given: readonly string[] = []): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw usage(`--label takes NAME=VALUE, such as --label site=lab, not "${text}".`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

function readFormat(given: string | undefined): ImportFormat | undefined {
  if (given === undefined) return undefined;
  const format = importFormats.find((name) => name === given);
  if (format === undefined)
    throw usage(`--format must be one of ${importFormats.join(", ")}, not "${given}".`);
  return format;
}

function readWindow({ flags, nowMs }: ImportSourceOptions): {
  fromMs: number;
  toMs: number;
  matchers: readonly Matcher[] | undefined;
} {
  const toMs = flags.until === undefined ? nowMs : readTime(flags.until);
  const since = checkValue(durationMs(1, longestMs), flags.since ?? defaultSince);
  if (!since.ok) throw usage(`--since ${since.problems[0]?.sentence ?? "is not understood."}`);
  return { fromMs: toMs - since.value, toMs, matchers: readMatch(flags.match) };
}

function readTime(given: string): number {
  const ms = parseTimeMs(given);
  if (ms === undefined)
    throw usage(
      `--until must be Unix seconds or a time such as 2026-01-01T00:00:00Z, not "${given}".`,
    );
  return ms;
}

function readMatch(given: string | undefined): readonly Matcher[] | undefined {
  if (given === undefined) return undefined;
  try {
    return parseSelector(given);
  } catch (thrown) {
    if (thrown instanceof QueryError) throw usage(`--match is not a selector: ${thrown.message}`);
    throw thrown;
  }
}

function readZone(given: string | undefined): ReturnType<typeof machineZone> {
  if (given === undefined) return machineZone();
  const zone = parseZone(given);
  if (zone === undefined)
    throw usage(`--timezone takes a zone such as Europe/Berlin, UTC or +02:00, not "${given}".`);
  return zone;
}

function readVendor(given: string | undefined): Vendor | undefined {
  const vendor = parseVendor(given ?? "");
  if (given !== undefined && vendor === undefined)
    throw usage(`--vendor must be ${vendorChoice}, not "${given}".`);
  return vendor;
}

function readIndex(given: string | undefined): number {
  const index = checkValue(wholeNumber(0, 1_023), given ?? "0");
  if (!index.ok) throw usage(`--gpu ${index.problems[0]?.sentence ?? "is not understood."}`);
  return index.value;
}

const usage = (sentence: string): GpulseError => new GpulseError("USAGE", sentence);
