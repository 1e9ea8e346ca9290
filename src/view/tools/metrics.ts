/** Tools for series: PromQL within limits, and the metric catalogue. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { catalogue, identityLabels, type MetricEntry } from "../../model/catalogue/index.ts";
import { type Cell, name, pageOf, type ToolAnswer, word } from "./answer.ts";
import { queryInstant, queryRange, rerunPromql, seriesLimit } from "./hub-reader.ts";
import { printablePromql, promqlString } from "./quote.ts";
import {
  defineTool,
  oneOf,
  paging,
  text,
  timeHint,
  timeOf,
  whole,
  type ToolContext,
} from "./tool.ts";

const mostPoints = 60;

const queryInput = v.strictObject({
  promql: v.pipe(
    v.string("a PromQL expression"),
    v.minLength(1, "a PromQL expression"),
    v.maxLength(2_000, "a PromQL expression of 2,000 letters at most"),
    v.description("A PromQL expression, such as avg by (host) (gpu_power_watts)."),
  ),
  time: text(`When, or the end of the range (default: now): ${timeHint}.`),
  since: text(
    "Query the range of this length that ends at time, such as 6h; absent: the value at time alone.",
  ),
  points: whole("Points of each series of a range.", 2, mostPoints, 12),
  ...paging,
});
type QueryInput = v.InferOutput<typeof queryInput>;

export const queryPromql = defineTool({
  name: "query_promql",
  title: "Query in PromQL",
  description:
    "Evaluates PromQL at one time, or over a range with a few points for each series. Use find_metrics for names and units. Returns at most 1,000 series, 100 at once; aggregate with by () or topk() for larger fleets.",
  input: queryInput,
  example: { promql: "topk(5, gpu_power_watts)" },
  run: async (input, context) => {
    const timeMs =
      input.time === undefined ? context.nowMs : timeOf("time", input.time, context.nowMs);
    return input.since === undefined
      ? instantAnswer(input, timeMs, context)
      : rangeAnswer(input, timeMs, input.since, context);
  },
});

async function instantAnswer(
  { promql, limit, offset }: QueryInput,
  timeMs: number,
  { hub }: ToolContext,
): Promise<ToolAnswer> {
  const samples = await queryInstant(hub, promql, timeMs);
  return {
    summary: `${countOf(samples.length)} at ${new Date(timeMs).toISOString()}.`,
    columns: [{ title: "SERIES" }, { title: "VALUE" }],
    rows: samples
      .slice(offset, offset + limit)
      .map(({ labels, value }) => [name(seriesText(labels), 300), significant(value)]),
    offset,
    total: samples.length,
    rerun: [rerunPromql(printablePromql(promql))],
    page: pageOf("explore", { expr: promql }),
  };
}

async function rangeAnswer(
  { promql, limit, offset, points }: QueryInput,
  toMs: number,
  since: string,
  { hub }: ToolContext,
): Promise<ToolAnswer> {
  const lengthMs = parseDurationMs(since);
  if (lengthMs === undefined || lengthMs < 1_000 || lengthMs > 3_653 * 86_400_000)
    throw new GpulseError("USAGE", "since takes a duration from 1s to 10y, such as 6h.");
  const stepMs = Math.max(1_000, Math.ceil(lengthMs / (points - 1) / 1_000) * 1_000);
  // The newest point is at the end of the range.
  const fromMs = toMs - Math.floor(lengthMs / stepMs) * stepMs;
  const series = await queryRange(hub, promql, { fromMs, toMs, stepMs });
  return {
    summary: `${countOf(series.length)} from ${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()}, a value every ${stepMs / 1_000} s; - where there is none.`,
    columns: [{ title: "SERIES" }, { title: "MIN" }, { title: "MAX" }, { title: "VALUES" }],
    rows: series.slice(offset, offset + limit).map(({ labels, values }): Cell[] => {
      const numbers = values.map(([, value]) => value).filter((value) => Number.isFinite(value));
      return [
        name(seriesText(labels), 300),
        numbers.length === 0 ? undefined : significant(Math.min(...numbers)),
        numbers.length === 0 ? undefined : significant(Math.max(...numbers)),
        word(spread(values, fromMs, stepMs, toMs)),
      ];
    }),
    offset,
    total: series.length,
    notes: [`The step is ${stepMs / 1_000} s; pass points or a shorter since for a finer one.`],
    rerun: [rerunPromql(printablePromql(promql))],
    page: pageOf("explore", { expr: promql }),
  };
}

/** Returns one value per step, including steps without a sample. */
function spread(
  values: readonly (readonly [seconds: number, value: number])[],
  fromMs: number,
  stepMs: number,
  toMs: number,
): string {
  const at = new Map(values.map(([seconds, value]) => [Math.round(seconds * 1_000), value]));
  const cells: string[] = [];
  for (let ms = fromMs; ms <= toMs; ms += stepMs) {
    const value = at.get(Math.round(ms));
    cells.push(value === undefined ? "-" : String(Number(value.toPrecision(4))));
  }
  return cells.join(" ");
}

const significant = (value: number): Cell => word(String(Number(value.toPrecision(6))));

const countOf = (count: number): string =>
  count >= seriesLimit ? `The first ${seriesLimit} series` : `${count === 0 ? "No" : count} series`;

/** `name{a="b"}`, in PromQL notation. */
function seriesText({
  __name__: metric = "",
  ...labels
}: Readonly<Record<string, string>>): string {
  const inside = Object.entries(labels)
    .filter(([label]) => label !== "job" && label !== "instance")
    .map(([label, value]) => `${label}=${promqlString(value)}`);
  return inside.length === 0 && metric !== "" ? metric : `${metric}{${inside.join(",")}}`;
}

export const findMetrics = defineTool({
  name: "find_metrics",
  title: "Metric catalogue",
  description:
    "Finds metrics by words in their name or description: name, kind, unit, labels, meaning. Use it before writing PromQL.",
  input: v.strictObject({
    match: text("Words that all occur in the name or the description, such as: pcie throughput."),
    subject: oneOf(
      "What the metric describes.",
      ["all", "device", "host", "workload", "self"],
      "all",
    ),
    ...paging,
  }),
  example: { match: "power limit" },
  run: async ({ match = "", subject, limit, offset }) => {
    const words = match.toLowerCase().split(/\s+/);
    const fits = ({ name: metric, help, subject: own }: MetricEntry): boolean =>
      (subject === "all" || own === subject) &&
      words.every((one) => `${metric} ${help}`.toLowerCase().includes(one));
    const found = catalogue.filter(fits);
    return {
      summary: `${found.length} of ${catalogue.length} metrics of gpulse match.`,
      columns: ["METRIC", "KIND", "UNIT", "LABELS", "MEANING"].map((title) => ({ title })),
      rows: found
        .slice(offset, offset + limit)
        .map(({ name: metric, kind, unit, labels, help, subject: own }) => [
          word(metric),
          word(kind),
          word(unit),
          word([...identityLabels[own], ...labels.map((label) => label.name)].join(",")),
          word(help),
        ]),
      offset,
      total: found.length,
      notes: ["Other exporters' series are stored under their own names too: query them likewise."],
      rerun: [{ route: "/api/v1/metadata" }],
      page: "explore",
    };
  },
});
