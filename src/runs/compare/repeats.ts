/**
 * Reviews the repeats of one configuration: which first ones are warm-up, which are outliers, and how small a difference they can
 * detect. Pure. Warm-up is excluded and reported; an outlier is reported and stays included.
 */
import type { Figures } from "./figures.ts";
import { detectableDifference, meanOfAll, repeatsToDetect, varianceOf } from "./interval.ts";
import { metrics } from "./metrics.ts";
import { criticalT } from "./student.ts";

export interface RepeatReview {
  /** The metric of `spreadRatio`. */
  readonly metric: string;
  /** First repeats that are excluded from every figure. */
  readonly warmUp: readonly UnusualRepeat[];
  /** Repeats unlike the others, which are still included in every figure. */
  readonly outliers: readonly UnusualRepeat[];
  /** The number of repeats in the figures. */
  readonly used: number;
  /** Standard deviation relative to the mean, over the used repeats; absent with fewer than three. */
  readonly spreadRatio?: number;
}

export interface UnusualRepeat {
  readonly run: string;
  /** The metric in which the repeat is unusual. */
  readonly metric: string;
  readonly value: number;
  /** Its value relative to the mean of the others, less 1. */
  readonly offRatio: number;
}

export interface RepeatAdvice {
  readonly metric: string;
  /** The number of repeats of each subject. */
  readonly repeats: number;
  /** The smallest difference that these repeats detect in four of five cases. */
  readonly detectableRatio: number;
  /** The difference that the advice is for. */
  readonly targetRatio: number;
  /** Additional repeats of each to detect it; absent if impractically many. */
  readonly more?: number;
  readonly sentence: string;
}

/** Fewer repeats show neither warm-up nor outliers: among four, one unlike the rest is common. */
export const FEWEST_TO_JUDGE = 5;
const WARM_UP_LEVEL = 0.99;
const OUTLIER_LEVEL = 0.95;
/** Smaller differences are rounding errors. */
const ROUNDING = 1e-9;
const TARGET_RATIO = 0.01;

export interface NamedFigures {
  readonly run: string;
  readonly figures: Figures;
}

/**
 * Warm-up and outliers are detected in the pace (throughput, or duration without counted work) and in `headline`; the spread is
 * that of `headline`, or of the pace if it has no values. `runs` are in the order in which they were started.
 */
export function reviewRepeats(
  runs: readonly NamedFigures[],
  headline: string,
  dropsWarmUp = true,
): RepeatReview | undefined {
  const pace = valuesOf(runs, "throughput") === undefined ? "duration" : "throughput";
  const judged = [...new Set([headline, pace])].flatMap((metric) => {
    const values = valuesOf(runs, metric);
    return values === undefined ? [] : [{ metric, values }];
  });
  const [main] = judged;
  if (main === undefined) return undefined;
  const counts = judged.map(({ values }) => (dropsWarmUp ? countWarmUp(values) : 0));
  const first = Math.max(...counts);
  const warm = judged[counts.indexOf(first)] ?? main;
  const outliers = new Map<number, UnusualRepeat>();
  for (const { metric, values } of judged) {
    const used = values.slice(first);
    const found = findOutliers(used);
    const usual = used.filter((_, at) => !found.includes(at));
    for (const at of found)
      if (!outliers.has(at)) outliers.set(at, unusual(metric, runs[first + at], used[at], usual));
  }
  const used = main.values.slice(first);
  return {
    metric: main.metric,
    warmUp: runs
      .slice(0, first)
      .map((run, at) => unusual(warm.metric, run, warm.values[at], warm.values.slice(first))),
    outliers: [...outliers].toSorted(([one], [other]) => one - other).map(([, one]) => one),
    used: used.length,
    ...(used.length < 3 ? {} : { spreadRatio: spreadOf(used) }),
  };
}

/** Undefined if a repeat has no value. */
function valuesOf(runs: readonly NamedFigures[], metric: string): readonly number[] | undefined {
  const values = runs.flatMap(({ figures }) => {
    const value = figures.get(metric)?.value;
    return value !== undefined && "value" in value ? [value.value] : [];
  });
  return values.length === runs.length && values.length > 0 ? values : undefined;
}

const unusual = (
  metric: string,
  run: NamedFigures | undefined,
  value = Number.NaN,
  others: readonly number[],
): UnusualRepeat => ({
  run: run?.run ?? "",
  metric,
  value,
  offRatio: value / meanOfAll(others) - 1,
});

/**
 * The number of first repeats that are warm-up: those before the first one that fits the later half, if all deviate to the same
 * side. A repeat fits if it is within the 99 % prediction interval of a further repeat after that half (mean ± t · s · √(1 +
 * 1/n)): of steady repeats one set in a hundred loses its first. At least half of them, and at least three, always stay.
 */
export function countWarmUp(values: readonly number[]): number {
  if (values.length < FEWEST_TO_JUDGE) return 0;
  const steady = values.slice(Math.floor(values.length / 2));
  const mean = meanOfAll(steady);
  const count = steady.length;
  const far = Math.max(
    criticalT(WARM_UP_LEVEL, count - 1) * Math.sqrt(varianceOf(steady) * (1 + 1 / count)),
    ROUNDING * Math.abs(mean),
  );
  const side = Math.sign((values[0] ?? mean) - mean);
  const fits = values.findIndex((value) => side * (value - mean) <= far);
  return Math.min(fits, values.length - count);
}

/**
 * Indices of the outliers, by the generalised extreme Studentised deviate test at the 5 % level (Rosner 1983): tests up to a
 * fifth of the repeats, and at least one, so that two cannot mask each other.
 */
export function findOutliers(values: readonly number[]): readonly number[] {
  const count = values.length;
  if (count < FEWEST_TO_JUDGE) return [];
  const rest = [...values.entries()];
  const taken: number[] = [];
  let outliers = 0;
  for (let step = 1; step <= Math.max(1, Math.floor(count / 5)); step += 1) {
    const left = rest.map(([, value]) => value);
    const mean = meanOfAll(left);
    const deviation = Math.sqrt(varianceOf(left));
    if (!(deviation > ROUNDING * Math.abs(mean))) break;
    const far = rest.reduce((most, one) =>
      Math.abs(one[1] - mean) > Math.abs(most[1] - mean) ? one : most,
    );
    if (Math.abs(far[1] - mean) / deviation > esdLimit(left.length)) outliers = step;
    taken.push(far[0]);
    rest.splice(rest.indexOf(far), 1);
  }
  return taken.slice(0, outliers).toSorted((one, other) => one - other);
}

/** The deviation that the farthest of `count` normal values exceeds in one of twenty sets. */
export function esdLimit(count: number): number {
  const t = criticalT(1 - (1 - OUTLIER_LEVEL) / count, count - 2);
  return ((count - 1) * t) / Math.sqrt((count - 2 + t * t) * count);
}

/**
 * How small a difference the repeats can detect, and how many more would detect 1 %: two-sided at the 5 % level, in four of five
 * cases (power 80 %), with equal numbers of repeats and the observed spread. Undefined with fewer than three.
 */
export function adviseRepeats(
  reviews: readonly (RepeatReview | undefined)[],
): RepeatAdvice | undefined {
  const known = reviews.flatMap((one) =>
    one?.spreadRatio === undefined ? [] : [{ ...one, spreadRatio: one.spreadRatio }],
  );
  const [first] = known;
  if (first === undefined || known.length < reviews.length) return undefined;
  if (known.some(({ metric }) => metric !== first.metric)) return undefined;
  const spread = Math.sqrt(meanOfAll(known.map(({ spreadRatio }) => spreadRatio ** 2)));
  const repeats = Math.min(...known.map(({ used }) => used));
  const detectableRatio = detectableDifference(spread, repeats);
  const needed = repeatsToDetect(TARGET_RATIO, spread);
  const more = needed === undefined ? undefined : Math.max(0, needed - repeats);
  const found = `With ${repeats} repeats of each, a difference of ${percent(detectableRatio)} in ${titleOf(first.metric)} is found in four of five cases`;
  const advice =
    more === undefined
      ? "1 % would take more repeats than anybody records"
      : more === 0
        ? "enough to tell 1 % apart"
        : `${more} more ${more === 1 ? "run" : "runs"} of each to tell 1 % apart`;
  return {
    metric: first.metric,
    repeats,
    detectableRatio,
    targetRatio: TARGET_RATIO,
    ...(more === undefined ? {} : { more }),
    sentence: `${found}: ${advice} (two-sided, 5 % level).`,
  };
}

export const warmUpSentence = ({ run, metric, offRatio }: UnusualRepeat): string =>
  `${run} is left out as warm-up (${titleOf(metric)} ${signed(offRatio)} against the repeats after it)`;

export const outlierSentence = ({ run, metric, offRatio }: UnusualRepeat): string =>
  `${run} is unlike the other repeats (${titleOf(metric)} ${signed(offRatio)}), and counted all the same`;

const titleOf = (metric: string): string =>
  metrics.find(({ key }) => key === metric)?.title.toLowerCase() ?? metric;

function spreadOf(values: readonly number[]): number {
  const mean = meanOfAll(values);
  return mean === 0 ? 0 : Math.sqrt(varianceOf(values)) / Math.abs(mean);
}

const percent = (ratio: number): string => `${Number((100 * ratio).toPrecision(2))} %`;
const signed = (ratio: number): string => `${ratio > 0 ? "+" : "−"}${percent(Math.abs(ratio))}`;
