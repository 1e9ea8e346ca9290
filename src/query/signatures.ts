/** The argument and return types of every function, used by the checker, the printer and parse_query. */
import type { ValueType } from "./ast.ts";

export interface Signature {
  readonly args: readonly ValueType[];
  /** 0: exactly these. n > 0: the last may be omitted or repeated up to n times in total. -1: unlimited. */
  readonly variadic: number;
  readonly returns: ValueType;
}

function takes(args: readonly ValueType[], returns: ValueType = "vector", variadic = 0): Signature {
  return { args, variadic, returns };
}

const onVector = takes(["vector"]);
const onMatrix = takes(["matrix"]);
const onTime = takes(["vector"], "vector", 1);
const nothing = takes([], "scalar");

export const signatures: ReadonlyMap<string, Signature> = new Map<string, Signature>([
  ...each(
    "abs absent acos acosh asin asinh atan atanh ceil cos cosh deg exp floor histogram_avg histogram_count " +
      "histogram_stddev histogram_stdvar histogram_sum ln log10 log2 rad sgn sin sinh sort sort_desc sqrt " +
      "start_timestamp tan tanh timestamp",
    onVector,
  ),
  ...each(
    "absent_over_time avg_over_time changes count_over_time delta deriv first_over_time idelta increase irate " +
      "last_over_time mad_over_time max_over_time min_over_time present_over_time rate resets stddev_over_time " +
      "stdvar_over_time sum_over_time ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time " +
      "ts_of_min_over_time",
    onMatrix,
  ),
  ...each("day_of_month day_of_week day_of_year days_in_month hour minute month year", onTime),
  ...each("end pi range start step time", nothing),
  ...each("max_of min_of", takes(["scalar", "scalar"], "scalar")),
  ["clamp", takes(["vector", "scalar", "scalar"])],
  ...each("clamp_max clamp_min", takes(["vector", "scalar"])),
  ["double_exponential_smoothing", takes(["matrix", "scalar", "scalar"])],
  ["histogram_fraction", takes(["scalar", "scalar", "vector"])],
  ["histogram_quantile", takes(["scalar", "vector"])],
  ["histogram_quantiles", takes(["vector", "string", "scalar", "scalar"], "vector", 9)],
  ["info", takes(["vector", "vector"], "vector", 1)],
  ["label_join", takes(["vector", "string", "string", "string"], "vector", -1)],
  ["label_replace", takes(["vector", "string", "string", "string", "string"])],
  ["predict_linear", takes(["matrix", "scalar"])],
  ["quantile_over_time", takes(["scalar", "matrix"])],
  ["round", takes(["vector", "scalar"], "vector", 1)],
  ["scalar", takes(["vector"], "scalar")],
  ...each("sort_by_label sort_by_label_desc", takes(["vector", "string"], "vector", -1)),
  ["vector", takes(["scalar"])],
]);

function each(names: string, signature: Signature): [string, Signature][] {
  return names.split(" ").map((name) => [name, signature]);
}
