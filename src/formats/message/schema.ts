/**
 * The stream message, version 1: one GPU (or one host, without a GPU) at one instant, as JSON.
 *
 *   {"version":1,"time":"2026-01-01T00:00:00.000Z","host":"node-1",
 *    "gpu":{"uuid":"GPU-1","index":0,"vendor":"nvidia","model":"H200"},
 *    "values":{"gpu_power_watts":83.2},"absent":{"gpu_fan_rpm_1":"unsupported"},
 *    "other":[{"name":"gpu_process_memory_bytes","labels":{"pid":"7"},"value":1024}],"tags":["high_power"]}
 *
 * Readers ignore unknown fields; a change that breaks old readers needs a new version.
 */
import * as v from "valibot";
import { sentReasons } from "../../model/presence.ts";
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import type { SampleSuffix } from "../../model/layout.ts";

export const messageVersion = 1;

/** Far above what one host reports; a larger message becomes a dead letter. */
export const messageLimits = {
  bytes: 1_000_000,
  columns: 4_096,
  others: 16_384,
  labels: 128,
  tags: 256,
  textLength: 1_024,
  labelValueLength: 16_384,
} as const;

const { columns, others, labels, tags, textLength, labelValueLength } = messageLimits;

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** NaN for a day that the calendar does not have: `Date.parse` takes 2026-02-30 for March 2. */
export function parseMessageTime(text: string): number {
  const day = new Date(Date.parse(text.slice(0, "2026-01-01".length)));
  return day.getUTCDate() === Number(text.slice(8, 10)) ? Date.parse(text) : Number.NaN;
}

const text = (says: string) =>
  v.pipe(v.string(says), v.nonEmpty(says), v.maxLength(textLength, says));
const metricName = v.pipe(
  v.string(),
  v.regex(/^[a-zA-Z_:][a-zA-Z0-9_:]{0,254}$/, "the name of a metric"),
);
/** Senders must not set `__name__` and other reserved names. */
const labelName = v.pipe(
  v.string(),
  v.regex(/^(?!__)[a-zA-Z_][a-zA-Z0-9_]{0,254}$/, "the name of a label"),
);
/** 1e999 is valid JSON, but not a finite number. */
const value = v.pipe(
  v.number("a number"),
  v.minValue(-Number.MAX_VALUE, "a number"),
  v.maxValue(Number.MAX_VALUE, "a number"),
);
const absence = v.picklist(sentReasons, `one of ${sentReasons.join(", ")}`);

const gpu = v.object({
  uuid: v.pipe(text("the GPU's uuid"), v.description("Identity of the GPU; the message's key.")),
  index: v.pipe(
    v.number("a whole number"),
    v.integer("a whole number"),
    v.minValue(0, "a whole number"),
    v.maxValue(1_000_000, "a whole number"),
    v.description("Its number on the machine; may change between boots."),
  ),
  vendor: v.optional(text("the GPU's vendor")),
  model: v.optional(text("the GPU's model")),
  simulated: v.optional(v.boolean("true or false")),
  pci_bus_id: v.optional(text("text")),
  driver: v.optional(text("text")),
  vbios: v.optional(text("text")),
  link_type: v.optional(text("text")),
  parent: v.optional(
    v.pipe(text("the uuid of a GPU"), v.description("The GPU that this is a part of.")),
  ),
});

const other = v.object({
  name: metricName,
  labels: v.pipe(
    v.record(
      labelName,
      v.pipe(v.string("text"), v.nonEmpty("text"), v.maxLength(labelValueLength, "text")),
    ),
    v.maxEntries(labels, `at most ${labels} labels`),
  ),
  value: v.optional(value),
  absent: v.optional(absence),
});

export const messageSchema = v.object({
  version: v.literal(messageVersion),
  time: v.pipe(
    v.string("a time"),
    v.regex(timePattern, "a time such as 2026-01-01T00:00:00.000Z"),
    v.description("When it was read."),
  ),
  host: v.pipe(text("the machine's name"), v.description("The machine it was read on.")),
  gpu: v.optional(
    v.pipe(gpu, v.description("Absent where the message reports on the machine alone.")),
  ),
  values: v.pipe(
    v.record(metricName, value),
    v.maxEntries(columns, `at most ${columns} values`),
    v.description("Readings by their column in the lake; base units."),
  ),
  absent: v.optional(
    v.pipe(
      v.record(metricName, absence),
      v.maxEntries(columns, `at most ${columns} reasons`),
      v.description("Readings that are not there, each with why; never 0."),
    ),
  ),
  other: v.optional(
    v.pipe(
      v.array(other),
      v.maxLength(others, `at most ${others} readings`),
      v.description("Readings that have no column, with all their labels."),
    ),
  ),
  tags: v.optional(
    v.pipe(
      v.array(text("text")),
      v.maxLength(tags, `at most ${tags} tags`),
      v.description("What the stream found on the way."),
    ),
  ),
});

export type StreamMessage = v.InferOutput<typeof messageSchema>;

/* Resolves a sender's metric name to a metric. */

/** The cache limit, above the size of any catalogue. */
const keptNames = 10_000;

/** An unknown metric of a newer sender is stored as a plain number of that name. */
export function resolveMetric(
  name: string,
  plain: Map<string, MetricEntry>,
): { readonly metric: MetricEntry; readonly suffix: SampleSuffix } {
  const known = findMetric(name);
  if (known !== undefined) return { metric: known, suffix: "" };
  for (const suffix of ["_bucket", "_sum", "_count"] as const) {
    const metric = name.endsWith(suffix) ? findMetric(name.slice(0, -suffix.length)) : undefined;
    if (metric?.kind === "histogram") return { metric, suffix };
  }
  let metric = plain.get(name);
  if (metric === undefined) {
    metric = plainMetric(name);
    if (plain.size >= keptNames) plain.clear();
    plain.set(name, metric);
  }
  return { metric, suffix: "" };
}

function plainMetric(name: string): MetricEntry {
  return {
    name,
    kind: "gauge",
    unit: "none",
    help: "Reported by a later version.",
    subject: "device",
    tier: "fast",
    resolution: 0.001,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
    labels: [],
    given: {},
  };
}
