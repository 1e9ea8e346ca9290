/**
 * The parameters of analyses: one table for flags, the hub's API and the docs, and their parser. Pure; the current time is an
 * argument.
 */
import { didYouMean } from "../../config/closest.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import { parseZone, type Zone } from "../../formats/gpuz/time.ts";
import { findColumn } from "../../model/aliases.ts";

interface Parameter {
  readonly takes: string;
  /** The default as a user would type it; undefined: none, and columns that need it are null. */
  readonly fallback?: string;
  /** The help text for a default that is not a fixed value. */
  readonly fallbackText?: string;
  readonly help: string;
}

const dayMs = 86_400_000;
const ratio = "a ratio from 0 to 1";
const instant = "a date, an ISO time, or how long ago, such as 7d";

const parameters = {
  since: { takes: instant, fallbackText: "all", help: "Only readings from this time on." },
  until: { takes: instant, fallbackText: "now", help: "Only readings before this time." },
  timezone: {
    takes: "a time zone such as Europe/Berlin, UTC or +02:00",
    fallback: "UTC",
    help: "Time zone in which days and hours begin.",
  },
  gpu: {
    takes: "UUIDs or indexes, comma-separated",
    fallbackText: "all",
    help: "Only these GPUs.",
  },
  host: { takes: "names, comma-separated", fallbackText: "all", help: "Only GPUs of these hosts." },
  gap: {
    takes: "a duration",
    fallback: "5m",
    help: "Longest time between two readings; a longer gap counts as missing data.",
  },
  price: { takes: "a number, 0 or more", help: "Price of a kWh, in your currency." },
  co2: { takes: "a number, 0 or more", help: "Grams of CO₂ per kWh." },
  "idle-below": { takes: ratio, fallback: "0.05", help: "Utilization below which a GPU is idle." },
  "held-bytes": {
    takes: "a number of bytes",
    fallback: "1073741824",
    help: "Memory in use from which an idle GPU counts as held by a process.",
  },
  rise: { takes: "degrees", fallback: "10", help: "Rise of temperature that counts as a spike." },
  window: {
    takes: "a duration",
    fallback: "60s",
    help: "Time within which the temperature rises.",
  },
  "fan-fall": {
    takes: ratio,
    fallback: "0.2",
    help: "Loss of fan speed that makes a fan the cause of a spike.",
  },
  "power-rise": {
    takes: ratio,
    fallback: "0.2",
    help: "Rise of power that makes load the cause of a spike.",
  },
  "power-rise-watts": {
    takes: "watts",
    fallback: "10",
    help: "The same in watts; both must be reached.",
  },
  "load-rise": {
    takes: ratio,
    fallback: "0.2",
    help: "Rise of utilization that makes load the cause if power is not reported.",
  },
  metrics: {
    takes: "2 to 16 columns of the lake, comma-separated",
    fallbackText: "power, temperature, utilization and the like",
    help: "Metrics to correlate.",
  },
  step: {
    takes: "a duration",
    fallbackText: "1m, or 5m for more than a week",
    help: "Average readings over this step before correlating them.",
  },
  lags: { takes: "0 to 60", fallback: "5", help: "Number of steps to shift in both directions." },
  "fewest-steps": {
    takes: "3 or more",
    fallback: "20",
    help: "Smallest number of steps for a correlation.",
  },
  ambient: { takes: "degrees", fallback: "25", help: "Ambient temperature." },
  settle: {
    takes: "a duration",
    fallback: "5m",
    help: "Time of steady load before the temperature counts.",
  },
  "load-share": {
    takes: ratio,
    fallback: "0.5",
    help: "Share of a GPU's 95 % quantile of power that counts as load.",
  },
  "baseline-days": {
    takes: "1 to 365",
    fallback: "7",
    help: "Number of first days that are the baseline.",
  },
  drift: { takes: ratio, fallback: "0.1", help: "Drift that counts as worse or better." },
  "fewest-samples": {
    takes: "a number",
    fallback: "30",
    help: "Smallest number of readings under load for a day to count.",
  },
} as const satisfies Record<string, Parameter>;

export type ParameterName = keyof typeof parameters;
export const parameterNames = Object.keys(parameters) as readonly ParameterName[];
export const parameterFacts = (name: ParameterName): Parameter => parameters[name];

/** The values inserted into SQL; an undefined number becomes null. */
export interface AnalysisSettings {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly zone: Zone;
  readonly gpus: readonly string[];
  readonly hosts: readonly string[];
  readonly metrics: readonly string[] | undefined;
  /** Undefined: chosen by the time range of the data. */
  readonly stepMs: number | undefined;
  readonly lags: number;
  /** The numeric parameters by their names in the SQL files. */
  readonly numbers: Readonly<Record<string, number | undefined>>;
}

export type RawParameters = Readonly<Record<string, string | undefined>>;

export const maxTimeMs = 253_402_300_799_000;

export function readParameters(given: RawParameters, nowMs: number): AnalysisSettings {
  for (const name of Object.keys(given))
    if (!(name in parameters))
      throw usage(`there is no parameter ${name}.${didYouMean(name, parameterNames)}`);
  const raw = (name: ParameterName): string | undefined => {
    const value = given[name];
    return value === undefined || value.trim() === ""
      ? parameterFacts(name).fallback
      : value.trim();
  };
  const fail = (name: ParameterName): GpulseError =>
    usage(`${name} must be ${parameterFacts(name).takes}, not ${JSON.stringify(raw(name))}.`);
  const numberOf = (name: ParameterName, min: number, max: number): number | undefined => {
    const value = raw(name);
    if (value === undefined) return undefined;
    const number = Number(value);
    if (!/^[-+\d.eE]+$/.test(value) || !(number >= min && number <= max)) throw fail(name);
    return number;
  };
  const wholeOf = (name: ParameterName, min: number, max: number): number => {
    const number = numberOf(name, min, max);
    if (number === undefined || !Number.isInteger(number)) throw fail(name);
    return number;
  };
  const durationOf = (name: ParameterName, minMs: number): number | undefined => {
    const value = raw(name);
    if (value === undefined) return undefined;
    const ms = parseDurationMs(value);
    if (ms === undefined || !(ms >= minMs && ms <= 365 * dayMs)) throw fail(name);
    return Math.round(ms);
  };
  const listOf = (name: ParameterName): readonly string[] =>
    (raw(name) ?? "").split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
  const zone = parseZone(raw("timezone") ?? "UTC");
  if (zone === undefined) throw fail("timezone");
  const instantOf = (name: "since" | "until", absent: number): number => {
    const value = raw(name);
    if (value === undefined) return absent;
    const ms = instantMs(value, zone, nowMs);
    if (ms === undefined || ms < 0 || ms > maxTimeMs) throw fail(name);
    return ms;
  };
  const [sinceMs, untilMs] = [instantOf("since", 0), instantOf("until", maxTimeMs)];
  if (sinceMs >= untilMs) throw usage("since must be before until.");
  return {
    sinceMs,
    untilMs,
    zone,
    gpus: listOf("gpu"),
    hosts: listOf("host"),
    metrics: raw("metrics") === undefined ? undefined : columnsOf(listOf("metrics")),
    stepMs: durationOf("step", 1_000),
    lags: wholeOf("lags", 0, 60),
    numbers: {
      gap_ms: durationOf("gap", 1),
      price_per_kwh: numberOf("price", 0, 1e9),
      co2_grams_per_kwh: numberOf("co2", 0, 1e9),
      idle_below: numberOf("idle-below", 0, 1),
      held_bytes: numberOf("held-bytes", 0, 1e16),
      rise_celsius: numberOf("rise", 0.1, 200),
      window_ms: durationOf("window", 1_000),
      fan_fall: numberOf("fan-fall", 0, 1),
      power_rise: numberOf("power-rise", 0, 1_000),
      power_rise_watts: numberOf("power-rise-watts", 0, 1e6),
      load_rise: numberOf("load-rise", 0, 1),
      fewest_steps: wholeOf("fewest-steps", 3, 1e9),
      ambient_celsius: numberOf("ambient", -60, 100),
      settle_ms: durationOf("settle", 1_000),
      load_share: numberOf("load-share", 0, 1),
      baseline_days: wholeOf("baseline-days", 1, 365),
      drift: numberOf("drift", 0, 10),
      fewest_samples: wholeOf("fewest-samples", 1, 1e9),
    },
  };
}

function columnsOf(names: readonly string[]): readonly string[] {
  const found = [
    ...new Set(
      names.map((name) => {
        const column = findColumn(name)?.column;
        if (column === undefined)
          throw usage(
            `metrics contains ${name}, which is not a column of the lake: see docs/guides/lake.md.`,
          );
        return column;
      }),
    ),
  ];
  if (found.length < 2 || found.length > 16)
    throw usage(`metrics must be ${parameters.metrics.takes}, not ${found.length}.`);
  return found;
}

/** A date without a time is midnight at its start in the zone. */
function instantMs(text: string, zone: Zone, nowMs: number): number | undefined {
  const local = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?$/.exec(text);
  if (local !== null) {
    const ms = Date.parse(`${local[1]}T${local[2] ?? "00:00"}Z`);
    return Number.isNaN(ms) ? undefined : ms - zone.offsetMs(ms - zone.offsetMs(ms));
  }
  const agoMs = parseDurationMs(text);
  if (agoMs !== undefined) return nowMs - agoMs;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

const usage = (sentence: string): GpulseError => new GpulseError("USAGE", sentence);
