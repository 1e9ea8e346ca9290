/**
 * Splits the energy of an LLM server into joules per prompt token and per generated token: regresses power on the two token rates,
 *
 *   watts = idle + joulesPerPromptToken × prompt tokens/s + joulesPerGeneratedToken × generated tokens/s
 *
 * by least squares, with standard errors. The idle power is measured where the server rested, and fitted otherwise: tokens are
 * counted a moment after they were computed, which in short busy intervals raises the fitted idle power at the tokens' expense (by
 * half on an H200, see docs/reference/serving-check.md). If the rates vary too little, or move together, the result is unknown. Pure.
 */

export interface RateInterval {
  readonly seconds: number;
  readonly watts: number;
  readonly promptTokensPerSecond: number;
  readonly generatedTokensPerSecond: number;
}

export interface EnergyEstimate {
  readonly value: number;
  readonly standardError: number;
}

export interface EnergySplit {
  readonly joulesPerPromptToken: EnergyEstimate;
  readonly joulesPerGeneratedToken: EnergyEstimate;
  /** Power without tokens: measured where the server rested, by the fitted line otherwise. */
  readonly idleWatts: EnergyEstimate;
  /** Share of the tokens' energy, without the idle power, that prompts used. */
  readonly prefillRatio: EnergyEstimate;
  readonly intervals: number;
}

const fewestIntervals = 20;
/** More are joined to longer ones, in which it matters less when a token was counted. */
const mostIntervals = 30;
/** Intervals without tokens from which the idle power is measured. */
const fewestRests = 3;
/** Standard deviation of a rate divided by its mean. */
const leastVariation = 0.05;
/** Above this correlation of the two rates, their effects cannot be separated. */
const mostCorrelation = 0.98;
/** Standard error divided by the estimate. */
const mostRelativeError = 0.5;

export function splitEnergy(
  intervals: readonly RateInterval[],
): EnergySplit | { readonly absent: string } {
  const count = intervals.length;
  if (count < fewestIntervals)
    return {
      absent: `Cannot tell: ${count} intervals with tokens and power, ${fewestIntervals} are needed.`,
    };
  const rest = restOf(intervals);
  const joined = join(intervals);
  const prompt = columnOf(joined, (one) => one.promptTokensPerSecond, rest && 0);
  const generated = columnOf(joined, (one) => one.generatedTokensPerSecond, rest && 0);
  const watts = columnOf(joined, (one) => one.watts, rest?.value);
  for (const [name, rate] of [
    ["prompt", prompt],
    ["generated", generated],
  ] as const)
    if (!(rate.deviation > leastVariation * rate.mean))
      return { absent: `Cannot tell: the rate of ${name} tokens hardly changed.` };
  const pp = dot(prompt.values, prompt.values);
  const gg = dot(generated.values, generated.values);
  const pg = dot(prompt.values, generated.values);
  if (Math.abs(pg) / Math.sqrt(pp * gg) > mostCorrelation)
    return { absent: "Cannot tell: prompt and generated tokens rose and fell together." };
  const pw = dot(prompt.values, watts.values);
  const gw = dot(generated.values, watts.values);
  const determinant = pp * gg - pg * pg;
  const perPrompt = (gg * pw - pg * gw) / determinant;
  const perGenerated = (pp * gw - pg * pw) / determinant;
  const residuals = watts.values.map(
    (value, at) =>
      value - perPrompt * (prompt.values[at] ?? 0) - perGenerated * (generated.values[at] ?? 0),
  );
  const freedom = joined.length - (rest === undefined ? 3 : 2);
  const variance = (dot(residuals, residuals) / freedom) * correlationFactor(residuals);
  // An error of the measured idle power changes both costs by these per watt.
  const [promptSum, generatedSum] = [sum(prompt.values), sum(generated.values)];
  const promptPerWatt = (pg * generatedSum - gg * promptSum) / determinant;
  const generatedPerWatt = (pg * promptSum - pp * generatedSum) / determinant;
  const restVariance = (rest?.standardError ?? 0) ** 2;
  const [promptVariance, generatedVariance, covariance] = [
    (variance * gg) / determinant + restVariance * promptPerWatt ** 2,
    (variance * pp) / determinant + restVariance * generatedPerWatt ** 2,
    (-variance * pg) / determinant + restVariance * promptPerWatt * generatedPerWatt,
  ];
  const split: EnergySplit = {
    joulesPerPromptToken: estimate(perPrompt, promptVariance),
    joulesPerGeneratedToken: estimate(perGenerated, generatedVariance),
    idleWatts:
      rest ??
      estimate(
        watts.mean - perPrompt * prompt.mean - perGenerated * generated.mean,
        variance / joined.length +
          prompt.mean ** 2 * promptVariance +
          generated.mean ** 2 * generatedVariance +
          2 * prompt.mean * generated.mean * covariance,
      ),
    prefillRatio: ratioOf(
      [perPrompt * prompt.mean, prompt.mean ** 2 * promptVariance],
      [perGenerated * generated.mean, generated.mean ** 2 * generatedVariance],
      prompt.mean * generated.mean * covariance,
    ),
    intervals: joined.length,
  };
  for (const [name, { value, standardError }] of [
    ["prompt", split.joulesPerPromptToken],
    ["generated", split.joulesPerGeneratedToken],
  ] as const)
    if (!(value > 0 && standardError / value <= mostRelativeError))
      return {
        absent: `Cannot tell: ${significant(value)} ± ${significant(standardError)} J for each ${name} token. Power follows something else too.`,
      };
  return split;
}

const estimate = (value: number, variance: number): EnergyEstimate => ({
  value,
  standardError: Math.sqrt(Math.max(0, variance)),
});

/** a / (a + b), with its error by the first derivative. */
function ratioOf(
  [a, aVariance]: readonly [number, number],
  [b, bVariance]: readonly [number, number],
  covariance: number,
): EnergyEstimate {
  const both = a + b;
  const variance = (b * b * aVariance + a * a * bVariance - 2 * a * b * covariance) / both ** 4;
  return estimate(a / both, variance);
}

/** Neighbouring intervals are correlated, which increases the variance by (1 + r) / (1 - r). */
function correlationFactor(residuals: readonly number[]): number {
  const all = dot(residuals, residuals);
  const lagged = dot(residuals.slice(1), residuals.slice(0, -1));
  const r = all === 0 ? 0 : Math.min(0.95, Math.max(0, lagged / all));
  return (1 + r) / (1 - r);
}

/** The power of the intervals without tokens: their median, since work may begin before its first token is counted. */
function restOf(intervals: readonly RateInterval[]): EnergyEstimate | undefined {
  const watts = intervals
    .filter((one) => one.promptTokensPerSecond === 0 && one.generatedTokensPerSecond === 0)
    .map((one) => one.watts)
    .toSorted((a, b) => a - b);
  const median = watts[watts.length >> 1];
  if (median === undefined || watts.length < fewestRests) return undefined;
  const deviations = watts.map((one) => Math.abs(one - median)).toSorted((a, b) => a - b);
  return {
    value: median,
    // Of normal noise, a median deviation is 0.67 standard deviations, and a median's error 1.25 of a mean's.
    standardError:
      (1.25 * (deviations[deviations.length >> 1] ?? 0)) / 0.67 / Math.sqrt(watts.length),
  };
}

/** Joins neighbours until at most `mostIntervals` are left. */
function join(intervals: readonly RateInterval[]): readonly RateInterval[] {
  const each = Math.ceil(intervals.length / mostIntervals);
  if (each < 2) return intervals;
  const joined: RateInterval[] = [];
  for (let at = 0; at + each <= intervals.length; at += each) {
    const parts = intervals.slice(at, at + each);
    const seconds = sum(parts.map((one) => one.seconds));
    const mean = (of: (one: RateInterval) => number): number =>
      sum(parts.map((one) => of(one) * one.seconds)) / seconds;
    joined.push({
      seconds,
      watts: mean((one) => one.watts),
      promptTokensPerSecond: mean((one) => one.promptTokensPerSecond),
      generatedTokensPerSecond: mean((one) => one.generatedTokensPerSecond),
    });
  }
  return joined;
}

interface Column {
  readonly mean: number;
  readonly deviation: number;
  /** Differences from the origin. */
  readonly values: readonly number[];
}

/** @param origin The mean, unless given. */
function columnOf(
  intervals: readonly RateInterval[],
  of: (one: RateInterval) => number,
  origin?: number,
): Column {
  const all = intervals.map(of);
  const mean = sum(all) / all.length;
  return {
    mean,
    deviation: Math.sqrt(sum(all.map((value) => (value - mean) ** 2)) / all.length),
    values: all.map((value) => value - (origin ?? mean)),
  };
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

const dot = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((total, value, at) => total + value * (right[at] ?? 0), 0);

const significant = (value: number): string => String(Number(value.toPrecision(2)));
