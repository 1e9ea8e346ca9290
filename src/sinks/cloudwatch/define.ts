/** `cloudwatch:NAMESPACE`: sends metrics to Amazon CloudWatch with PutMetricData, as statistics per period. */
import * as v from "valibot";
import { durationMs, text } from "../../config/fields.ts";
import { defineSink } from "../../pipeline/sink.ts";

/** Each metric of each GPU costs money every month, so the default is what GPU alarms and dashboards need. */
const defaultMetrics = [
  "gpu_up",
  "gpu_utilization_ratio",
  "gpu_memory_used_bytes",
  "gpu_memory_total_bytes",
  "gpu_power_watts",
  "gpu_temperature_celsius",
  "gpu_xid_errors_total",
] as const;

export const cloudWatchOptions = v.strictObject({
  namespace: v.optional(
    v.pipe(
      text("a namespace"),
      v.regex(/^(?!AWS\/)[\w.\-/#:]{1,255}$/, "1 to 255 of A-Z a-z 0-9 . - _ / # :, and not AWS/"),
      v.description("The namespace of the metrics in CloudWatch."),
    ),
    "gpulse",
  ),
  region: v.optional(v.pipe(text("a region"), v.description("Default: AWS_REGION."))),
  metrics: v.optional(
    v.pipe(
      text("metric names separated by commas, or all"),
      v.description("Metrics to send; all sends every metric, and CloudWatch charges for each."),
    ),
    defaultMetrics.join(","),
  ),
  period: v.optional(
    v.pipe(
      durationMs(1_000, 3_600_000),
      v.description(
        "Readings of a period become one set of minimum, maximum, sum and count; below 60s it is high-resolution.",
      ),
    ),
    "60s",
  ),
  profile: v.optional(
    v.pipe(
      text("a profile"),
      v.description(
        "Profile of ~/.aws/credentials. Default: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
      ),
    ),
  ),
  endpoint: v.optional(
    v.pipe(text("an address"), v.description("Address of a compatible server.")),
  ),
  timeout: v.optional(
    v.pipe(durationMs(100, 600_000), v.description("Timeout of one request.")),
    "30s",
  ),
});

export const cloudwatch = defineSink({
  name: "cloudwatch",
  summary: "Metrics to Amazon CloudWatch, as statistics per period.",
  mainOption: "namespace",
  options: cloudWatchOptions,
  examples: [
    {
      url: "cloudwatch:gpulse?region=eu-central-1",
      description: "utilization, memory, power, temperature and Xids of every GPU, every minute",
    },
    {
      url: "cloudwatch:lab/gpus?region=eu-central-1&metrics=gpu_power_watts&period=10s",
      description: "one metric, in high resolution",
    },
  ],
  create: async (given, context) => {
    const { openCloudWatchSink } = await import("./open.ts");
    return openCloudWatchSink(given, context);
  },
});
