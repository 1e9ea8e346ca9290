/** Formats differences as sentences: real, none, or undecided. Every number comes from the data. */
import type { ComparedMetric, ComparedSubject } from "./compare.ts";
import type { Difference } from "./difference.ts";
import { decimalsFor, formatDecimals, formatMeasurement, sizeOf } from "./quantity.ts";

export const verdictWords: Readonly<Record<Difference["verdict"], string>> = {
  real: "real difference",
  likely: "likely difference",
  same: "no difference",
  undecided: "cannot be decided yet",
  "not-compared": "not compared",
};

/** Headings of the lists of statements in reports, in order. */
export const verdictHeadings: readonly (readonly [Difference["verdict"], string])[] = [
  ["real", "Real differences"],
  ["likely", "Likely differences"],
  ["undecided", "Cannot be decided yet"],
  ["same", "No difference"],
  ["not-compared", "Not compared"],
];

export interface Statement {
  /** Index of the subject, from 1; subject 0 is the reference. */
  readonly subject: number;
  readonly metric: string;
  readonly headline: boolean;
  readonly verdict: Difference["verdict"];
  readonly text: string;
}

interface Phrase {
  readonly up: string;
  readonly down: string;
  /** The term for the absence of a difference. */
  readonly noun: string;
}

const phrases: Readonly<Record<string, Phrase>> = {
  perWatt: { up: "better per watt", down: "worse per watt", noun: "performance per watt" },
  perJoule: { up: "more work per joule", down: "less work per joule", noun: "work per joule" },
  throughput: { up: "faster", down: "slower", noun: "throughput" },
  duration: { up: "longer", down: "shorter", noun: "duration" },
  power: { up: "more", down: "less", noun: "power" },
  energyCounter: { up: "more energy", down: "less energy", noun: "energy by the counter" },
  energyIntegrated: {
    up: "more energy",
    down: "less energy",
    noun: "energy by its power readings",
  },
  utilization: { up: "higher", down: "lower", noun: "utilisation" },
  edge: { up: "hotter", down: "cooler", noun: "edge temperature" },
  hotspot: { up: "hotter", down: "cooler", noun: "hotspot temperature" },
  memoryTemperature: { up: "hotter", down: "cooler", noun: "memory temperature" },
  rise: { up: "more", down: "less", noun: "rise over idle temperature" },
  clock: { up: "higher", down: "lower", noun: "graphics clock" },
  memoryClock: { up: "higher", down: "lower", noun: "memory clock" },
  memory: { up: "more", down: "less", noun: "memory used" },
  fan: { up: "higher", down: "lower", noun: "fan speed" },
};

/** A difference whose uncertainty is below this share of itself is shown as exact. */
const EXACT = 1e-4;

/** Sentences about these metrics name the subject itself; all others name the metric. */
const ofItself = new Set(["perWatt", "throughput"]);

export function statementsOf(
  subjects: readonly ComparedSubject[],
  metrics: readonly ComparedMetric[],
): readonly Statement[] {
  const [first, ...others] = subjects;
  if (first === undefined) return [];
  return others.flatMap(({ name }, at) =>
    metrics.flatMap((metric) => {
      const difference = metric.differences[at];
      if (difference === undefined) return [];
      const text = sentence(name, first.name, metric, difference);
      const { key, headline } = metric;
      return [{ subject: at + 1, metric: key, headline, verdict: difference.verdict, text }];
    }),
  );
}

function sentence(
  name: string,
  first: string,
  metric: ComparedMetric,
  difference: Difference,
): string {
  const phrase = phraseOf(metric);
  const { verdict, why, amount } = difference;
  if (amount === undefined) return `${upper(phrase.noun)} of ${name}: n/a, ${lower(why ?? "")}`;
  const measured = `${formatDifference(metric, difference)} against ${first}${difference.low === undefined ? "" : `, 95 % interval ${formatInterval(metric, difference)}`}`;
  if (verdict === "same")
    return `${upper(phrase.noun)} of ${name} and ${first}: no difference${amount === 0 ? "" : ` (${measured})`}.`;
  if (verdict === "undecided" || verdict === "not-compared")
    return `${upper(phrase.noun)} of ${name}: ${verdictWords[verdict]} (${measured}): ${why ?? ""}.`;
  if (verdict === "likely")
    return `${upper(phrase.noun)} of ${name}: ${verdictWords[verdict]} (${measured})${steadyText(metric, difference)}.`;
  const how = amount > 0 ? phrase.up : phrase.down;
  const much = sure(metric, difference);
  if (metric.key === "power")
    return `${name} draws ${alone(metric, difference)} ${how} than ${first}${much.includes(" to ") ? ` (${much})` : ""}.`;
  if (metric.key.startsWith("energy"))
    return `${name} uses ${much} ${how} than ${first} (${metric.key === "energyCounter" ? "device's counter" : "power added up"}).`;
  if (metric.key === "perJoule") return `${name} does ${much} ${how} than ${first}.`;
  if (ofItself.has(metric.key)) return `${name} is ${much} ${how} than ${first}.`;
  return `${upper(phrase.noun)} of ${name}: ${much} ${how} than of ${first}.`;
}

/** `; +412 W from 15:32 UTC to the end`: where the change happened inside the range. */
function steadyText(metric: ComparedMetric, difference: Difference): string {
  const { steady } = difference;
  if (steady === undefined) return "";
  const time = (ms: number): string =>
    `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const amount = formatDifference(metric, {
    as: "difference",
    verdict: "likely",
    amount: steady.amount,
  });
  return `; ${amount} from ${time(steady.fromMs)} to ${time(steady.toMs)}`;
}

export interface ComparisonHeadline {
  readonly grade: "Clear" | "Likely" | "Cannot tell" | "No difference";
  readonly text: string;
}

const gradeOf = {
  real: "Clear",
  likely: "Likely",
  undecided: "Cannot tell",
  same: "No difference",
} as const;
/** Differences that were found come first, however small. */
const graded = [["real", "likely"], ["undecided"], ["same"]] as const;

/** The comparison in one line: the verdict, and the largest difference of the headline metric with both values. */
export function summarizeComparison(
  subjects: readonly ComparedSubject[],
  metrics: readonly ComparedMetric[],
): ComparisonHeadline | undefined {
  const all = metrics.flatMap((metric) =>
    metric.differences.map((difference, at) => ({ metric, difference, at: at + 1 })),
  );
  const [found] = graded.flatMap((verdicts) =>
    all
      .filter(({ difference }) => verdicts.some((verdict) => verdict === difference.verdict))
      .sort((one, other) => weightOf(other) - weightOf(one))
      .slice(0, 1),
  );
  const [first] = subjects;
  if (found === undefined || first === undefined) return undefined;
  const { metric, difference, at } = found;
  const { verdict, why } = difference;
  if (verdict === "not-compared") return undefined;
  const [before, after] = [metric.of[0]?.mean, metric.of[at]?.mean];
  const values =
    before === undefined || after === undefined
      ? ""
      : `, ${formatMeasurement(after, metric.unit, workUnit(subjects[at]))} against ${formatMeasurement(before, metric.unit, workUnit(first))}`;
  const size = difference.amount === undefined ? "" : `, ${formatDifference(metric, difference)}`;
  const more =
    verdict === "likely"
      ? steadyText(metric, difference)
      : verdict === "undecided" && why !== undefined
        ? `${size}: ${lower(why)}`
        : verdict === "real"
          ? size
          : "";
  const about = `${upper(phraseOf(metric).noun)} of ${subjects[at]?.name ?? ""} and ${first.name}`;
  return { grade: gradeOf[verdict], text: `${about}${values}${more}.` };
}

/** Ranks the headline metric first, then the largest relative difference. */
function weightOf({
  metric,
  difference,
}: {
  metric: ComparedMetric;
  difference: Difference;
}): number {
  const [before = 0] = [metric.of[0]?.mean];
  const share = before === 0 ? 0 : Math.abs((difference.amount ?? 0) / before);
  return (metric.headline ? 1e9 : 0) + share;
}

/** The unit of a subject's work: subjects that are not compared may have different units. */
export function workUnit(subject: ComparedSubject | undefined): string {
  const units = subject?.runs.flatMap(({ work }) => ("why" in work ? [] : [work.unit])) ?? [];
  return units.length === 0 ? "units" : [...new Set(units)].join(" and ");
}

const phraseOf = ({ key, title }: ComparedMetric): Phrase =>
  phrases[key] ?? { up: "more", down: "less", noun: lower(title) };

/** `20 % ± 3 %` if the interval is symmetric, `12 to 19 W` if not or if a range reads better. */
function sure(metric: ComparedMetric, difference: Difference): string {
  const { low = 0, high = 0, amount = 0, ratio = 0, as } = difference;
  const flip = amount < 0 ? -1 : 1;
  const [from, to] = [Math.min(flip * low, flip * high), Math.max(flip * low, flip * high)];
  if (as === "ratio") {
    const [middle, half] = [100 * flip * ratio, 50 * (to - from)];
    const decimals = roughDecimals(half, middle);
    if (half <= EXACT * Math.abs(middle)) return `${formatDecimals(middle, decimals)}\u00a0%`;
    if (Math.abs(middle - 50 * (to + from)) <= 0.15 * half)
      return `${formatDecimals(middle, decimals)}\u00a0% ± ${formatDecimals(half, decimals)}\u00a0%`;
    return `${range(100 * from, 100 * to, decimals)}\u00a0%`;
  }
  const { divisor, unit } = unitOf(metric, difference);
  const decimals = roughDecimals((to - from) / 2 / divisor, to / divisor);
  const text = range(from / divisor, to / divisor, decimals);
  return `${text}\u00a0${unit}`;
}

/** The amount alone, with its significant digits. */
function alone(metric: ComparedMetric, difference: Difference): string {
  const { low = 0, high = 0, amount = 0 } = difference;
  const { divisor, unit } = unitOf(metric, difference);
  const decimals = roughDecimals((high - low) / 2 / divisor, Math.abs(amount) / divisor);
  return `${formatDecimals(Math.abs(amount) / divisor, decimals)}\u00a0${unit}`;
}

/** A value with an uncertainty of a hundredth needs its digits; one with an uncertainty of five needs none. */
const roughDecimals = (half: number, value: number): number =>
  half <= EXACT * Math.abs(value)
    ? Number.isInteger(Number(value.toPrecision(6)))
      ? 0
      : 2
    : Math.max(0, decimalsFor(half, Math.abs(value) + half) - 1);

function range(from: number, to: number, decimals: number): string {
  const [low, high] = [formatDecimals(from, decimals), formatDecimals(to, decimals)];
  return low === high ? low : `${low} to ${high}`;
}

function unitOf(
  { unit }: ComparedMetric,
  { low = 0, high = 0, amount = 0 }: Difference,
): { readonly divisor: number; readonly unit: string } {
  if (unit === "ratio") return { divisor: 0.01, unit: "points" };
  return sizeOf(Math.max(Math.abs(low), Math.abs(high), Math.abs(amount)), unit);
}

/** `+1.2 %`, `−15 W`: the difference itself. */
export function formatDifference(metric: ComparedMetric, difference: Difference): string {
  const { amount = 0, ratio, as, low, high } = difference;
  const half = low === undefined || high === undefined ? 0 : (high - low) / 2;
  if (as === "ratio") {
    if (ratio === undefined) return "n/a";
    return `${plus(100 * ratio, half <= EXACT * Math.abs(ratio) ? 1 : decimalsFor(100 * half, 100 * (Math.abs(ratio) + half)))}\u00a0%`;
  }
  const { divisor, unit } = unitOf(metric, difference);
  const share =
    ratio === undefined ? "" : ` (${plus(100 * ratio, Math.abs(ratio) < 0.1 ? 1 : 0)}\u00a0%)`;
  return `${plus(amount / divisor, half <= EXACT * Math.abs(amount) ? 1 : decimalsFor(half / divisor, (Math.abs(amount) + half) / divisor))}\u00a0${unit}${share}`;
}

/** `−0.4 … +1.1 %`: the confidence interval of the difference. */
export function formatInterval(metric: ComparedMetric, difference: Difference): string {
  const { low = 0, high = 0, as } = difference;
  const { divisor, unit } =
    as === "ratio" ? { divisor: 0.01, unit: "%" } : unitOf(metric, difference);
  const half = (high - low) / 2;
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const decimals = half <= EXACT * largest ? 1 : decimalsFor(half / divisor, largest / divisor);
  return `${plus(low / divisor, decimals)} … ${plus(high / divisor, decimals)}\u00a0${unit}`;
}

function plus(value: number, decimals: number): string {
  const text = formatDecimals(value, decimals);
  return Number(text.replace("−", "-").replaceAll("\u202f", "")) > 0 ? `+${text}` : text;
}

const upper = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const lower = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
