/**
 * Splits the energy of an LLM server into joules per prompt token and per generated token: regresses power on the two token rates,
 *
 *   watts = idle + joulesPerPromptToken × prompt tokens/s + joulesPerGeneratedToken × generated tokens/s
 *
 * by least squares, with standard errors. If the rates vary too little, or move together, the result is unknown. Pure.
 */

export interface RateInterval {
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
  /** Power without tokens, by the fitted line. */
  readonly idleWatts: EnergyEstimate;
  /** Share of the tokens' energy, without the idle power, that prompts used. */
  readonly prefillRatio: EnergyEstimate;
  readonly intervals: number;
}

const fewestIntervals = 20;
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
  const prompt = centered(intervals.map((one) => one.promptTokensPerSecond));
  const generated = centered(intervals.map((one) => one.generatedTokensPerSecond));
  const watts = centered(intervals.map((one) => one.watts));
  for (const [name, rate] of [
    ["prompt", prompt],
    ["generated", generated],
  ] as const)
    if (!(Math.sqrt(dot(rate.values, rate.values) / count) > leastVariation * rate.mean))
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
  const variance = (dot(residuals, residuals) / (count - 3)) * correlationFactor(residuals);
  const [promptVariance, generatedVariance, covariance] = [
    (variance * gg) / determinant,
    (variance * pp) / determinant,
    (-variance * pg) / determinant,
  ];
  const split: EnergySplit = {
    joulesPerPromptToken: estimate(perPrompt, promptVariance),
    joulesPerGeneratedToken: estimate(perGenerated, generatedVariance),
    idleWatts: estimate(
      watts.mean - perPrompt * prompt.mean - perGenerated * generated.mean,
      variance / count +
        prompt.mean ** 2 * promptVariance +
        generated.mean ** 2 * generatedVariance +
        2 * prompt.mean * generated.mean * covariance,
    ),
    prefillRatio: ratioOf(
      [perPrompt * prompt.mean, prompt.mean ** 2 * promptVariance],
      [perGenerated * generated.mean, generated.mean ** 2 * generatedVariance],
      prompt.mean * generated.mean * covariance,
    ),
    intervals: count,
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
  const sum = a + b;
  const variance = (b * b * aVariance + a * a * bVariance - 2 * a * b * covariance) / sum ** 4;
  return estimate(a / sum, variance);
}

/** Neighbouring intervals are correlated, which increases the variance by (1 + r) / (1 - r). */
function correlationFactor(residuals: readonly number[]): number {
  const all = dot(residuals, residuals);
  const lagged = dot(residuals.slice(1), residuals.slice(0, -1));
  const r = all === 0 ? 0 : Math.min(0.95, Math.max(0, lagged / all));
  return (1 + r) / (1 - r);
}

function centered(values: readonly number[]): { readonly mean: number; readonly values: number[] } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, values: values.map((value) => value - mean) };
}

const dot = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);

const significant = (value: number): string => String(Number(value.toPrecision(2)));
