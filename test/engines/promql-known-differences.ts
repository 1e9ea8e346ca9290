// Known differences between remote engines and Prometheus 3. Each sentence is also in docs/reference/store-elsewhere.md,
// and at least one case of our scripts confirms it.

import type { Difference } from "./promql-remote.ts";

export interface KnownDifference {
  /** The sentence on that page. */
  readonly sentence: string;
  readonly fits: (difference: Difference) => boolean;
}

const query =
  (pattern: RegExp) =>
  (difference: Difference): boolean =>
    pattern.test(difference.query);
const problem =
  (pattern: RegExp) =>
  (difference: Difference): boolean =>
    pattern.test(difference.problem ?? "");

/** In order: the first that fits explains a case. */
export const prometheus242: readonly KnownDifference[] = [
  {
    sentence: "Functions, modifiers and notations newer than it are refused with a parse error.",
    fits: problem(/parse error/),
  },
  {
    sentence: "`histogram_fraction` of classic histograms gives nothing.",
    fits: query(/histogram_fraction/),
  },
  {
    sentence: "Sums and averages lose small values beside huge ones.",
    fits: query(/gpu_mixed|gpu_sum/),
  },
  {
    sentence:
      "`topk` and `bottomk` sort NaN differently, and a NaN as their number fails in other words.",
    fits: query(/topk|bottomk/),
  },
  { sentence: "`atan2` keeps the metric's name.", fits: query(/atan2/) },
  {
    sentence: "The error of an ambiguous match names the two series in another order.",
    fits: problem(/^failed otherwise: found duplicate series for the match group/),
  },
  {
    sentence: "`label_replace` no longer sees the name after a function dropped it.",
    fits: query(/label_replace\(rate/),
  },
  {
    sentence:
      "Ranges, sub-queries and the look-back are closed on both sides: a sample exactly at the left edge counts.",
    fits: query(/\[|absent\(gpu_x\)|^gpu_power_watts\{gpu="1"\}$/),
  },
];

export const victoriaMetrics179: readonly KnownDifference[] = [
  {
    sentence: "Functions, modifiers and notations it does not know are refused.",
    fits: problem(
      /unknown func|unparsed data|unexpected token|cannot parse|expects|^failed: .*quantiles/,
    ),
  },
  {
    sentence: "Errors have other words.",
    fits: problem(/^failed otherwise/),
  },
  {
    sentence:
      "What Prometheus refuses is answered: a NaN or huge number of `topk`, an invalid label name, the negation of a range.",
    fits: problem(/^did not fail/),
  },
  {
    sentence:
      "Functions that do not change what a value means keep the metric's name: `max_over_time`, `avg_over_time`, `round`, `clamp`, `predict_linear`.",
    fits: problem(/^missing \{(?!__name__).*got \{__name__=/),
  },
  {
    sentence: "`label_replace` no longer sees the name after a function dropped it.",
    fits: query(/label_replace\(rate/),
  },
  {
    sentence: "`sort_by_label` sorts numbers in names as text.",
    fits: query(/^sort_by_label/),
  },
  { sentence: "`topk` and `bottomk` come in another order.", fits: problem(/is at place/) },
  {
    sentence:
      "A histogram's buckets are fixed before a quantile is taken of them, and below zero the first bucket is read otherwise.",
    fits: query(/histogram_quantile\((0\.5, step_seconds_bucket\)|0\.9, step|0\.2, cold)/),
  },
  {
    sentence:
      "`rate`, `increase`, `delta` and `changes` take the sample before the range into account and do not extrapolate.",
    fits: query(/\b(rate|increase|irate|delta|changes)\(/),
  },
  {
    sentence: "Sub-queries are aligned otherwise, and their left edge counts.",
    fits: query(/\[[^\]]*:/),
  },
  {
    sentence:
      "Series whose samples come seldom are looked back for less than five minutes: by about twice their own interval.",
    fits: (one) => one.script.startsWith("selectors") || one.query.startsWith("absent("),
  },
  {
    sentence: "Dates of values no date can have are other dates.",
    fits: query(/^(year|day_of_month|day_of_week|hour)\(gpu_time/),
  },
  {
    sentence: "`clamp` with its bounds swapped gives values.",
    fits: query(/^clamp\(gpu_x, 1, -1\)/),
  },
  {
    sentence: "`absent_over_time` keeps a label that stands twice.",
    fits: query(/^absent_over_time\(gpu_nothing/),
  },
  {
    sentence: "Small values lose digits beside huge ones, in the store and in sums.",
    fits: query(/gpu_mixed|gpu_sum/),
  },
  {
    sentence: "A NaN is no value: it is not kept, not compared, not answered.",
    fits: query(
      /NaN|0 \/ 0|gpu_util|gpu_x|step_seconds_bucket|gpu_power_watts|gpu_temperature_celsius/,
    ),
  },
];

/** These queries crash VictoriaMetrics 1.79. */
export const deadly = /\[0x/;
