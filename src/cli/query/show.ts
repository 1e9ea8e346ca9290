/** Formats a query result: a table, with a sparkline for ranges, or CSV. Pure. */
import { alignColumns } from "../table.ts";
import { histogramText } from "../../view/histogram-text.ts";
import type { HubQueryResponse } from "./run.ts";

const bars = "▁▂▃▄▅▆▇█";
const sparkWidth = 40;

export function renderQueryTable(answer: HubQueryResponse): string {
  if (answer.resultType === "scalar" || answer.resultType === "string")
    return `${answer.result[1]}\n`;
  if (answer.result.length === 0) return "nothing matches\n";
  if (answer.resultType === "vector") {
    return alignColumns([
      ["SERIES", "VALUE"],
      ...answer.result.map((one) => [
        seriesText(one.metric),
        "value" in one ? one.value[1] : histogramText(one.histogram[1]),
      ]),
    ]);
  }
  const rows = answer.result.map(({ metric, values, histograms = [] }) => {
    const newest = histograms.at(-1);
    if (newest !== undefined && newest[0] > (values.at(-1)?.[0] ?? -Infinity))
      return [seriesText(metric), "", "", "", "", histogramText(newest[1])];
    const numbers = values
      .map(([, text]) => toNumber(text))
      .filter((number) => Number.isFinite(number));
    if (numbers.length === 0) return [seriesText(metric), "", "", "", "", values.at(-1)?.[1] ?? ""];
    const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
    return [
      seriesText(metric),
      sparkline(numbers),
      short(least(numbers)),
      short(mean),
      short(most(numbers)),
      values.at(-1)?.[1] ?? "",
    ];
  });
  return alignColumns([["SERIES", "", "MIN", "MEAN", "MAX", "LAST"], ...rows]);
}

export function renderQueryCsv(answer: HubQueryResponse): string {
  if (answer.resultType === "scalar" || answer.resultType === "string")
    return `time,value\n${answer.result[0]},${cell(answer.result[1])}\n`;
  const samples = answer.result.map((one) => ({ metric: one.metric, values: pointsOf(one) }));
  const names = [...new Set(samples.flatMap(({ metric }) => Object.keys(metric)))].sort();
  const lines = samples.flatMap(({ metric, values }) =>
    values.map(([time, value]) =>
      [
        ...names.map((name) => cell(metric[name] ?? "")),
        new Date(time * 1_000).toISOString(),
        value.includes(",") ? `"${value}"` : value,
      ].join(","),
    ),
  );
  return `${[[...names.map(cell), "time", "value"].join(","), ...lines].join("\n")}\n`;
}

/** Floats and histograms merged by time, each as text. */
function pointsOf(
  one: Extract<HubQueryResponse, { result: readonly { metric: unknown }[] }>["result"][number],
): (readonly [time: number, text: string])[] {
  if ("value" in one) return [one.value];
  const histograms = "histogram" in one ? [one.histogram] : (one.histograms ?? []);
  const texts = histograms.map(([time, histogram]) => [time, histogramText(histogram)] as const);
  return [...("values" in one ? one.values : []), ...texts].sort(([a], [b]) => a - b);
}

/** Quotes a CSV cell if necessary; a cell that a spreadsheet would run as a formula gets a leading apostrophe. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Formats `name{a="b"}` as in PromQL. */
export function seriesText(metric: Readonly<Record<string, string>>): string {
  const { __name__: name = "", ...labels } = metric;
  const inside = Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(", ");
  return inside === "" && name !== "" ? name : `${name}{${inside}}`;
}

/** Draws at most `sparkWidth` bars; a bar of several points shows their mean. */
export function sparkline(numbers: readonly number[]): string {
  const [low, high] = [least(numbers), most(numbers)];
  const width = Math.min(sparkWidth, numbers.length);
  let line = "";
  for (let bar = 0; bar < width; bar++) {
    const part = numbers.slice(
      Math.floor((bar * numbers.length) / width),
      Math.floor(((bar + 1) * numbers.length) / width),
    );
    const mean = part.reduce((sum, number) => sum + number, 0) / part.length;
    const level = high === low ? 0 : Math.round(((mean - low) / (high - low)) * (bars.length - 1));
    line += bars[level] ?? "";
  }
  return line;
}

const least = (numbers: readonly number[]): number =>
  numbers.reduce((low, number) => Math.min(low, number), Infinity);
const most = (numbers: readonly number[]): number =>
  numbers.reduce((high, number) => Math.max(high, number), -Infinity);
const toNumber = (text: string): number =>
  text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text);
const short = (number: number): string => String(Number(number.toPrecision(5)));
