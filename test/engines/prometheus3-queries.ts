// Queries with every function, operator and aggregation, over every kind of series.

/** Series of every kind, 40 samples each, 15 s apart. */
export const samples = `
  step_seconds{job="train",gpu="0"} {{schema:0 count:4 sum:9 z_bucket:1 z_bucket_w:0.001 offset:0 buckets:[1 0 2]}}+{{schema:0 count:6 sum:13 z_bucket:1 z_bucket_w:0.001 offset:0 buckets:[2 1 2]}}x40
  step_seconds{job="train",gpu="1"} {{schema:2 count:10 sum:30 offset:3 buckets:[2 3 5]}}+{{schema:2 count:10 sum:31 offset:3 buckets:[2 3 5]}}x25 {{schema:2 count:3 sum:9 offset:4 buckets:[1 2]}}+{{schema:2 count:5 sum:14 offset:4 buckets:[2 3]}}x14
  step_seconds{job="infer",gpu="0"} {{schema:1 count:8 sum:-4 n_offset:-1 n_buckets:[1 2] z_bucket:2 z_bucket_w:0.01 offset:-2 buckets:[1 2]}}+{{schema:1 count:8 sum:-4 n_offset:-1 n_buckets:[1 2] z_bucket:2 z_bucket_w:0.01 offset:-2 buckets:[1 2]}}x40
  queue_depth{job="train"} {{schema:0 count:5 sum:12 counter_reset_hint:gauge buckets:[1 3 1]}} {{schema:0 count:7 sum:20 counter_reset_hint:gauge buckets:[2 4 1]}} {{schema:0 count:4 sum:6 counter_reset_hint:gauge buckets:[3 1]}}x18 {{schema:0 count:9 sum:30 counter_reset_hint:gauge buckets:[1 2 6]}}x18
  queue_depth{job="infer"} {{schema:0 count:5 sum:12 counter_reset_hint:gauge buckets:[1 3 1]}}+{{schema:0 count:3 sum:5 counter_reset_hint:gauge buckets:[1 2]}}x40
  batch_bytes{job="train"} {{schema:-53 count:10 sum:60 custom_values:[1 5 10] buckets:[1 4 3 2]}}+{{schema:-53 count:10 sum:61 custom_values:[1 5 10] buckets:[1 4 3 2]}}x40
  batch_bytes{job="infer"} {{schema:-53 count:6 sum:40 custom_values:[5 10 20] buckets:[1 2 2 1]}}+{{schema:-53 count:6 sum:41 custom_values:[5 10 20] buckets:[1 2 2 1]}}x20 {{schema:-53 count:5 sum:40 custom_values:[5 10 20] buckets:[1 1 2 1]}}+{{schema:-53 count:6 sum:41 custom_values:[5 10 20] buckets:[1 2 2 1]}}x18
  changing_bounds{job="a"} {{schema:-53 count:10 sum:60 custom_values:[1 5 10] buckets:[1 4 3 2]}}+{{schema:-53 count:10 sum:61 custom_values:[1 5 10] buckets:[1 4 3 2]}}x20 {{schema:-53 count:300 sum:2000 custom_values:[5 10 20] buckets:[150 100 40 10]}}+{{schema:-53 count:6 sum:41 custom_values:[5 10 20] buckets:[1 2 2 1]}}x18
  mixed_samples{job="a"} 1 2 3 {{schema:0 count:2 sum:3 buckets:[2]}}x8 {{schema:0 count:4 sum:7 buckets:[4]}} 5 6 {{schema:0 count:5 sum:9 buckets:[5]}} {{schema:0 count:6 sum:9 buckets:[6]}}x10 {{schema:0 count:7 sum:9 buckets:[7]}} 1 2 3+1x8 {{schema:0 count:5 sum:9 buckets:[5]}} {{schema:0 count:5 sum:9 buckets:[5]}}
  mixed_samples{job="b"} {{schema:0 count:2 sum:3 buckets:[2]}}+{{schema:0 count:2 sum:3 buckets:[2]}}x40
  mixed_samples{job="c"} 5+3x40
  ended_seconds{job="a"} {{schema:0 count:2 sum:3 buckets:[2]}}x20 stale _ _ {{schema:0 count:4 sum:5 buckets:[4]}}x10 stale
  flip_layout{job="a"} {{schema:0 count:2 sum:3 buckets:[2]}}x20 {{schema:-53 count:3 sum:4 custom_values:[2] buckets:[1 2]}}x20
  flip_layout{job="b"} {{schema:-53 count:3 sum:4 custom_values:[2] buckets:[1 2]}}x40
  flip_gauge{job="a"} {{schema:0 count:2 sum:3 buckets:[2]}}x20 {{schema:0 count:3 sum:4 counter_reset_hint:gauge buckets:[1 2]}}x20
  nan_seconds{job="a"} {{schema:0 count:10 sum:NaN buckets:[2 4]}}x40
  zero_only{job="a"} {{count:4 sum:0 z_bucket:4 z_bucket_w:0.5}}x40
  empty_seconds{job="a"} {{count:0 sum:0}}x40
  float_total{job="train",gpu="0"} 0+5x40
  float_total{job="train",gpu="1"} 3+2x22 1+2x17
  plain_gauge{job="train",gpu="0"} 0+5x10 7-3x10 NaN Inf -Inf 5x15
  fine_seconds{job="a"} {{schema:3 count:12 sum:14 z_bucket:2 z_bucket_w:0.1 offset:-3 buckets:[1 2 3 4]}}+{{schema:3 count:12 sum:14 z_bucket:2 z_bucket_w:0.1 offset:-3 buckets:[1 2 3 4]}}x20 {{schema:1 count:600 sum:314 z_bucket:102 z_bucket_w:0.5 offset:-1 buckets:[200 298]}}+{{schema:1 count:12 sum:14 z_bucket:2 z_bucket_w:0.5 offset:-1 buckets:[5 5]}}x18
  fine_seconds{job="b"} {{schema:8 count:100 sum:14 offset:-300 buckets:[10 20 30 40]}}+{{schema:8 count:10 sum:14 offset:-300 buckets:[1 2 3 4]}}x40
  wide_zero{job="a"} {{schema:0 count:9 sum:14 z_bucket:3 z_bucket_w:1.5 offset:2 buckets:[2 4]}}+{{schema:0 count:9 sum:14 z_bucket:3 z_bucket_w:1.5 offset:2 buckets:[2 4]}}x40
  fractional{job="a"} {{schema:0 count:4.5 sum:9.25 z_bucket:0.5 z_bucket_w:0.001 buckets:[1.5 0 2.5]}}+{{schema:0 count:2.5 sum:3.5 z_bucket:0.5 z_bucket_w:0.001 buckets:[0.5 0 1.5]}}x40
  far_seconds{job="a"} {{schema:-4 count:3 sum:1e300 offset:60 buckets:[1 1 1]}}x40
  wait_seconds_bucket{job="a",le="0.1"} 0+3x40
  wait_seconds_bucket{job="a",le="1"} 0+5x40
  wait_seconds_bucket{job="a",le="10"} 0+4x40
  wait_seconds_bucket{job="a",le="+Inf"} 0+7x40
  wait_seconds_bucket{job="b",le="1"} 0+2x40
  wait_seconds_bucket{job="b",le="few"} 0+2x40
  wait_seconds_bucket{job="b",le="+Inf"} 0+4x40
  wait_seconds_sum{job="a"} 0+13x40
  wait_seconds_count{job="a"} 0+7x40
  both_seconds{job="a"} {{schema:0 count:2 sum:3 buckets:[2]}}+{{schema:0 count:2 sum:3 buckets:[2]}}x40
  both_seconds{job="a",le="1"} 0+2x40
  both_seconds{job="a",le="+Inf"} 0+4x40
  target_info{job="train",instance="i0",version="1",cloud="x"} 1x40
  target_info{job="infer",instance="i0",version="2"} 1x20 stale
  target_info{job="infer",instance="i0",version="3"} _x21 1x18
  build_info{job="train",instance="i0",build="77"} 1x40
  with_instance{job="train",instance="i0"} {{schema:0 count:4 sum:9 buckets:[4]}}x40
  with_instance{job="infer",instance="i0"} 4x40
  with_instance{job="other",instance="i9"} 9x40
  with_instance{job="train",instance="i0",version="9"} 1x40
`;

const natives = [
  "step_seconds",
  "queue_depth",
  "batch_bytes",
  "changing_bounds",
  "mixed_samples",
  "ended_seconds",
  "flip_layout",
  "flip_gauge",
  "nan_seconds",
  "zero_only",
  "empty_seconds",
  "fine_seconds",
  "wide_zero",
  "fractional",
  "far_seconds",
  "both_seconds",
];
const floats = ["float_total", "plain_gauge", "wait_seconds_bucket"];
const everything = [...natives, ...floats];

const across = (series: readonly string[], forms: readonly ((of: string) => string)[]): string[] =>
  forms.flatMap((form) => series.map(form));
const called = (names: string): ((of: string) => string)[] =>
  names.split(" ").map(
    (name) =>
      (of: string): string =>
        `${name}(${of})`,
  );

const ofVectors = [
  ...called(
    "abs absent acos ceil cos deg exp floor histogram_avg histogram_count histogram_stddev histogram_stdvar " +
      "histogram_sum ln sgn sqrt sort sort_desc timestamp scalar hour day_of_week month round",
  ),
  ...[0, 0.1, 0.5, 0.77, 0.99, 1].map((q) => (of: string) => `histogram_quantile(${q}, ${of})`),
  (of: string) => `histogram_quantile(-1, ${of})`,
  (of: string) => `histogram_quantile(2, ${of})`,
  (of: string) => `histogram_quantile(NaN, ${of})`,
  (of: string) => `histogram_quantiles(${of}, "q", 0.1, 0.5, 1.5)`,
  (of: string) => `histogram_fraction(-Inf, Inf, ${of})`,
  (of: string) => `histogram_fraction(0, 2.5, ${of})`,
  (of: string) => `histogram_fraction(3, 1, ${of})`,
  (of: string) => `histogram_fraction(NaN, 1, ${of})`,
  (of: string) => `clamp(${of}, 1, 5)`,
  (of: string) => `clamp_min(${of}, 2)`,
  (of: string) => `clamp_max(${of}, 2)`,
  (of: string) => `round(${of}, 0.3)`,
  (of: string) => `label_replace(${of}, "role", "$1", "job", "(.).*")`,
  (of: string) => `label_join(${of}, "role", "-", "job", "gpu")`,
  (of: string) => `sort_by_label(${of}, "job")`,
  (of: string) => `-${of}`,
  (of: string) => `+${of}`,
  (of: string) => `(${of})`,
  (of: string) => `${of} offset 1m`,
  (of: string) => `${of} @ start()`,
];

const ofRanges = [
  ...called(
    "absent_over_time avg_over_time changes count_over_time delta deriv first_over_time idelta increase irate " +
      "last_over_time mad_over_time max_over_time min_over_time present_over_time rate resets stddev_over_time " +
      "stdvar_over_time sum_over_time ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time ts_of_min_over_time",
  ),
  (of: string) => `quantile_over_time(0.4, ${of})`,
  (of: string) => `quantile_over_time(1.4, ${of})`,
  (of: string) => `predict_linear(${of}, 60)`,
  (of: string) => `double_exponential_smoothing(${of}, 0.4, 0.3)`,
];

const aggregations = [
  ...called("sum avg count group min max stddev stdvar"),
  ...["sum", "avg", "count", "group", "min", "max", "stddev", "stdvar"].flatMap((name) => [
    (of: string) => `${name} by (job) (${of})`,
    (of: string) => `${name} without (gpu) (${of})`,
  ]),
  (of: string) => `quantile(0.3, ${of})`,
  (of: string) => `quantile(2, ${of})`,
  (of: string) => `topk(2, ${of})`,
  (of: string) => `bottomk(1, ${of})`,
  // The selected series depend on the order in the store.
  (of: string) => `count(limitk(1, ${of}))`,
  (of: string) => `count(limitk(2, ${of}))`,
  (of: string) => `limit_ratio(0.5, ${of})`,
  (of: string) => `limit_ratio(-0.5, ${of})`,
  (of: string) => `limit_ratio(2, ${of})`,
  (of: string) => `count_values("value", ${of})`,
];

const arithmetic = ["+", "-", "*", "/", "%", "^", "atan2"];
const comparisons = ["==", "!=", "<", ">", "<=", ">="];
const operands = [
  "step_seconds",
  "queue_depth",
  "batch_bytes",
  "mixed_samples",
  "flip_layout",
  "fine_seconds",
  "float_total",
  "wide_zero",
];

const binaries = [...arithmetic, ...comparisons].flatMap((op) => [
  ...operands.flatMap((one) => [`${one} ${op} 2`, `2 ${op} ${one}`, `${one} ${op} 0`]),
  ...operands.flatMap((left) =>
    operands.map((right) => `sum by (job) (${left}) ${op} on (job) sum by (job) (${right})`),
  ),
  `step_seconds ${op} on (job) group_left sum by (job) (step_seconds)`,
  `float_total ${op} on (job) group_left sum by (job) (step_seconds)`,
  `step_seconds ${op} ignoring (gpu) group_left sum by (job) (float_total)`,
]);

const bools = comparisons.flatMap((op) =>
  operands.flatMap((one) => [`${one} ${op} bool ${one}`, `${one} ${op} bool 2`]),
);

const sets = ["and", "or", "unless"].flatMap((op) =>
  operands.map((one) => `${one} ${op} on (job) step_seconds`),
);

const trims = ["</", ">/"].flatMap((op) =>
  natives.flatMap((one) => [
    `${one} ${op} 1.3`,
    `${one} ${op} 0`,
    `${one} ${op} -0.4`,
    `${one} ${op} 100`,
    `${one} ${op} Inf`,
    `1 ${op} ${one}`,
    `${one} ${op} ${one}`,
    `${one} ${op} NaN`,
  ]),
);

const infos = [
  "info(with_instance)",
  'info(with_instance, {version=~".+"})',
  'info(with_instance, {version=""})',
  'info(with_instance, {build=~".+"})',
  'info(with_instance, {__name__="build_info"})',
  'info(with_instance, {__name__=~".+_info"})',
  'info(with_instance, {__name__=~".+_info",build=~".+"})',
  'info(with_instance, {__name__!="target_info"})',
  'info(with_instance, {__name__=~"(target|build)_info", version="1"})',
  'info(with_instance, {cloud="x"})',
  'info(with_instance, {cloud="y"})',
  'info(with_instance, {nothing="x"})',
  'info(with_instance, {nothing!="x"})',
  'info(with_instance, {nothing=~"x|"})',
  "info(with_instance offset 2m)",
  "info(with_instance @ end())",
  "info(with_instance @ start() offset 1m)",
  "info(rate(with_instance[2m]))",
  "info(sum by (job, instance) (with_instance))",
  "info(sum by (job) (with_instance))",
  "info(sum(with_instance))",
  "info(target_info)",
  'info({__name__=~"target_info|with_instance"})',
  "info(build_info)",
  'info(with_instance{job="nothing"})',
  'info(label_replace(with_instance, "instance", "i0", "instance", ".*"))',
  "histogram_count(info(with_instance))",
  'info(with_instance, {instance="i0"})',
  'info(with_instance, {job="train"})',
  'info(with_instance, {version!="2"})',
  'info(with_instance, {__name__="no_info"})',
  'info(with_instance, {__name__="no_info",version=~".+"})',
];

const places = [
  "histogram_quantile(0.9, nan_seconds) + histogram_quantile(0.8, nan_seconds)",
  "sum(mixed_samples) + sum(mixed_samples)",
  "rate(plain_gauge[1m])\n + rate(plain_gauge[2m])",
  "histogram_quantile(0.9, wait_seconds_bucket) > 0\nor\nhistogram_quantile(0.5, wait_seconds_bucket)",
  "histogram_quantile(0.9, rate(wait_seconds_bucket[2m]))",
  "rate(sum(step_seconds)[3m:15s])",
  "increase(step_seconds[3m:15s])",
  "sum_over_time(rate(step_seconds[1m])[3m:30s])",
  "histogram_quantile(0.9, sum by (le) (rate(wait_seconds_bucket[2m])))",
  "histogram_fraction(0, 1, rate(wait_seconds_bucket[2m]))",
  "rate(step_seconds[2m] anchored)",
  "rate(step_seconds[2m] smoothed)",
  "increase(float_total[2m] anchored)",
  "delta(queue_depth[2m] smoothed)",
  "step_seconds smoothed",
  "mixed_samples smoothed",
  "flip_layout smoothed",
  'rate({__name__=~"float_total|plain_gauge"}[2m])',
  'rate({__name__=~".+"}[1m])',
  'sum({__name__=~".+_seconds"})',
  'quantile(7, {__name__=~"float_total|plain_gauge"})',
  "step_seconds + on (job, gpu) fill(0) float_total",
  "step_seconds + on (job, gpu) fill_left(0) float_total",
  "step_seconds - on (job, gpu) fill_right(1) float_total",
];

/** All queries; run at one timestamp and over a range. */
export const queries: readonly string[] = [
  ...everything,
  ...across(everything, ofVectors),
  ...across(
    everything.flatMap((one) => [`${one}[1m]`, `${one}[4m]`]),
    ofRanges,
  ),
  ...across([...everything, '{__name__=~"step_seconds|float_total"}'], aggregations),
  ...binaries,
  ...bools,
  ...sets,
  ...trims,
  ...infos,
  ...places,
];
