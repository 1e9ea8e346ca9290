/**
 * The SQL of an analysis for one engine: the view of the lake that every analysis reads, and the analysis over it. Pure except
 * for reading the SQL files.
 */
import path from "node:path";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Analysis } from "./analysis.ts";
import { type Dialect, expand, numberSql, textSql } from "./dialect.ts";
import { correlatedColumns } from "./list.ts";
import type { AnalysisSettings } from "./parameters.ts";
import type { Zone } from "../../formats/gpuz/time.ts";

const at = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
/** The copy that `scripts/build.mjs` puts beside the bundle. */
const builtDir = at("./analyses");
const dir = existsSync(path.join(builtDir, "daily.sql")) ? builtDir : at("./sql");

const sqlFile = (name: string): string => readFileSync(path.join(dir, `${name}.sql`), "utf8");

export interface LakeSpan {
  /** From the first to the last date in the lake, in UTC. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Some files of a lake. */
export interface LakePart {
  /** The text after `from`. */
  readonly from: string;
  /** True if the files have the column; always true if that is unknown. */
  readonly has: (column: string) => boolean;
  /** True if no row of these files can be a duplicate of any other row. */
  readonly isUnique?: boolean;
}

export interface LakeView {
  readonly dialect: Dialect;
  readonly parts: readonly LakePart[];
  readonly span: LakeSpan;
}

const week = 7 * 86_400_000;

/** Everything that the analyses read, as one view or table named samples. */
export function samplesSql(
  analyses: readonly Analysis[],
  settings: AnalysisSettings,
  lake: LakeView,
): string {
  const columns = [...new Set(analyses.flatMap((one) => readsOf(one, settings)))];
  const file = sqlFile(isOfJobs(analyses) ? "job-samples" : "samples");
  return lake.parts.map((part) => partSql(file, columns, settings, lake, part)).join("union all\n");
}

function partSql(
  file: string,
  columns: readonly string[],
  settings: AnalysisSettings,
  { dialect, span }: LakeView,
  { from, has, isUnique = false }: LakePart,
): string {
  const merged = (value: string): string => (isUnique ? value : `max(${value})`);
  return expand(file, dialect, {
    lake: from,
    merged: (...value) => merged(value.join(", ")),
    by_row: isUnique ? "" : "group by host, uuid, time_ms",
    readings: columns
      .map(
        (name) =>
          `    ${has(name) ? `cast(${name} as double)` : "cast(null as double)"} as ${name}`,
      )
      .join(",\n"),
    measures: columns.map((name) => `  ${merged(name)} as ${name}`).join(",\n"),
    local_ms: localSql(
      settings.zone,
      Math.max(settings.sinceMs, span.firstMs),
      Math.min(settings.untilMs, span.lastMs),
    ),
    since_ms: String(settings.sinceMs),
    until_ms: String(settings.untilMs),
    chosen: chosenSql(settings),
  });
}

export function analysisSql(
  analysis: Analysis,
  settings: AnalysisSettings,
  { dialect, span }: Pick<LakeView, "dialect" | "span">,
): string {
  const metrics = settings.metrics ?? correlatedColumns;
  const spanMs = Math.min(settings.untilMs, span.lastMs) - Math.max(settings.sinceMs, span.firstMs);
  const places = (say: (name: string, place: number) => string, between: string): string =>
    metrics.map(say).join(between);
  const lags = Array.from({ length: 2 * settings.lags + 1 }, (_, place) => place - settings.lags);
  const { groupBy } = analysis;
  return expand(sqlFile(groupBy === undefined ? analysis.name : "jobs"), dialect, {
    group: analysis.columns[0]?.name ?? "",
    group_value:
      groupBy === "day"
        ? "{{day({{div(local_ms, 86400000)}})}}"
        : `coalesce(${groupBy ?? ""}, '-')`,
    ...Object.fromEntries(
      Object.entries(settings.numbers).map(([name, value]) => [name, numberSql(value)]),
    ),
    step_ms: String(settings.stepMs ?? (spanMs > week ? 300_000 : 60_000)),
    lag_steps: lags.map((lag) => `(${lag})`).join(", "),
    metric_pairs: metrics
      .flatMap((_, first) =>
        metrics.slice(first + 1).map((__, after) => `(${first}, ${first + 1 + after})`),
      )
      .join(", "),
    metric_cases: (table = "") =>
      places((name, place) => `when ${place} then ${table}.${name}`, " "),
    metric_names: places((name, place) => `when ${place} then '${name}'`, " "),
    metric_means: places((name) => `    avg(${name}) as ${name}`, ",\n"),
  }).replace(/\s*;?\s*$/, "");
}

/** All analyses of one run read the same table. */
export const isOfJobs = ([first]: readonly Analysis[]): boolean => first?.table === "jobs";

const readsOf = (analysis: Analysis, { metrics }: AnalysisSettings): readonly string[] =>
  analysis.name === "correlation" ? (metrics ?? analysis.reads) : analysis.reads;

function chosenSql({ gpus, hosts }: AnalysisSettings): string {
  const among = (what: string, names: readonly string[]): string =>
    `${what} in (${names.map(textSql).join(", ")})`;
  const parts: string[] = [];
  if (gpus.length > 0) {
    const numbers = gpus.filter((one) => /^\d{1,4}$/.test(one));
    const either = [among("uuid", gpus)];
    if (numbers.length > 0) either.push(`gpu in (${numbers.join(", ")})`);
    parts.push(`(${either.join(" or ")})`);
  }
  if (hosts.length > 0) parts.push(among("host", hosts));
  return parts.length === 0 ? "1 = 1" : parts.join(" and ");
}

const dayMs = 86_400_000;
const minuteMs = 60_000;

/**
 * The instants at which a zone's offset changes, with the new offset; the first entry is the start. Written into the SQL as
 * cases, because the engines' own time zones differ.
 */
function offsetChanges(
  zone: Zone,
  fromMs: number,
  toMs: number,
): readonly { readonly fromMs: number; readonly offsetMs: number }[] {
  const changes = [{ fromMs, offsetMs: zone.offsetMs(fromMs) }];
  for (let beforeMs = fromMs; beforeMs < toMs;) {
    const afterMs = Math.min(toMs, beforeMs + dayMs);
    if (zone.offsetMs(afterMs) !== zone.offsetMs(beforeMs)) {
      const atMs = changeBetween(zone, beforeMs, afterMs);
      changes.push({ fromMs: atMs, offsetMs: zone.offsetMs(atMs) });
    }
    beforeMs = afterMs;
  }
  return changes;
}

function changeBetween(zone: Zone, lowMs: number, highMs: number): number {
  const before = zone.offsetMs(lowMs);
  let [low, high] = [Math.floor(lowMs / minuteMs), Math.ceil(highMs / minuteMs)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zone.offsetMs(middle * minuteMs) === before) low = middle;
    else high = middle;
  }
  return high * minuteMs;
}

/** Converts an instant to the zone's wall clock, both in milliseconds. */
function localSql(zone: Zone, fromMs: number, toMs: number): (timeMs: string) => string {
  const [first, ...later] = offsetChanges(zone, fromMs, toMs);
  return (timeMs) => {
    if (later.length === 0) return `${timeMs} + ${first?.offsetMs ?? 0}`;
    const cases = later
      .toReversed()
      .map((change) => `when ${timeMs} >= ${change.fromMs} then ${change.offsetMs}`);
    return `${timeMs} + case ${cases.join(" ")} else ${first?.offsetMs ?? 0} end`;
  };
}
