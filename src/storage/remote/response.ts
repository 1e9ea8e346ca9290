/**
 * Parses an engine's JSON into query results. Numbers are parsed exactly, and any shape that differs from Prometheus's
 * is rejected, never guessed.
 */
import type { HttpResponse } from "../../net/http/request.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { QueryError } from "../../query/errors.ts";
import type {
  HistogramPoint,
  MatrixSeries,
  QueryData,
  QueryResult,
  VectorSample,
} from "../../query/result.ts";
import { StoreError } from "../embedded/error.ts";
import { wordsOf } from "./connection.ts";
import { fromShown } from "./histogram-json.ts";

interface ResponseData {
  readonly data: unknown;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** Returns the `data` of a response, or throws its error. */
export function readResponse(answer: HttpResponse): ResponseData {
  if (answer.status !== 200) throw refusalOf(answer);
  const parsed = record(parseJson(answer));
  if (parsed["status"] !== "success") throw refusalOf(answer);
  return {
    data: parsed["data"],
    warnings: texts(parsed["warnings"]),
    infos: texts(parsed["infos"]),
  };
}

export function readResult(answer: HttpResponse): QueryResult {
  const { data, warnings, infos } = readResponse(answer);
  const { resultType, result, stats } = record(data);
  return {
    data: dataOf(resultType, result),
    warnings,
    infos,
    stats: { ...statsOf(stats), selectMs: 0, evalMs: 0 },
  };
}

function dataOf(type: unknown, result: unknown): QueryData {
  if (type === "scalar") return { type, ...pointOf(result) };
  if (type === "string") {
    const [time, value] = list(result);
    if (typeof value !== "string") throw strange("an invalid string");
    return { type, timeMs: timeOf(time), value };
  }
  if (type !== "vector" && type !== "matrix") throw strange("an unknown kind of result");
  const all = list(result).map(record);
  return type === "vector"
    ? { type, samples: all.map(sampleOf) }
    : { type, series: all.map(seriesOf) };
}

function sampleOf({ metric, value, histogram }: Record<string, unknown>): VectorSample {
  const labels = labelsOf(metric);
  if (histogram === undefined) return { labels, ...pointOf(value) };
  return { labels, value: Number.NaN, ...histogramPointOf(histogram) };
}

function histogramPointOf(given: unknown): HistogramPoint {
  const [time, shown] = list(given);
  const { count, sum, buckets = [] } = record(shown);
  return {
    timeMs: timeOf(time),
    histogram: fromShown({
      count: numberIn(count),
      sum: numberIn(sum),
      buckets: list(buckets).map((bucket) => {
        const [, lower, upper, own] = list(bucket);
        return { lower: numberIn(lower), upper: numberIn(upper), count: numberIn(own) };
      }),
    }),
  };
}

function seriesOf({ metric, values, histograms }: Record<string, unknown>): MatrixSeries {
  const points = list(values ?? (histograms === undefined ? undefined : []));
  const times = new Float64Array(points.length);
  const numbers = new Float64Array(points.length);
  points.forEach((point, at) => {
    const { timeMs, value } = pointOf(point);
    times[at] = timeMs;
    numbers[at] = value;
  });
  return {
    labels: labelsOf(metric),
    times,
    values: numbers,
    ...(histograms !== undefined && { histograms: list(histograms).map(histogramPointOf) }),
  };
}

export function labelsOf(metric: unknown): LabelSet {
  const labels = record(metric);
  for (const value of Object.values(labels))
    if (typeof value !== "string") throw strange("a label that is not a string");
  return labelSet(labels as Record<string, string>);
}

function pointOf(given: unknown): { timeMs: number; value: number } {
  const [time, value] = list(given);
  return { timeMs: timeOf(time), value: numberIn(value) };
}

function numberIn(given: unknown): number {
  if (typeof given !== "string") throw strange("a value that is not a string");
  return numberOf(given);
}

function timeOf(given: unknown): number {
  if (typeof given !== "number") throw strange("a time that is not a number");
  return Math.round(given * 1_000);
}

export function numberOf(text: string): number {
  if (text === "+Inf" || text === "Inf") return Infinity;
  if (text === "-Inf") return -Infinity;
  const value = Number(text);
  if (text === "" || (Number.isNaN(value) && text !== "NaN"))
    throw strange("a value that is not a number");
  return value;
}

/** Statistics that an engine does not report are NaN. */
function statsOf(stats: unknown): { totalSamples: number; peakSamples: number } {
  const samples = isRecord(stats) && isRecord(stats["samples"]) ? stats["samples"] : {};
  const count = (name: string): number =>
    typeof samples[name] === "number" ? samples[name] : Number.NaN;
  return { totalSamples: count("totalQueryableSamples"), peakSamples: count("peakSamples") };
}

export function textsOf(data: unknown): string[] {
  return list(data ?? []).map((text) => {
    if (typeof text !== "string") throw strange("a name that is not a string");
    return text;
  });
}

/** Keeps the engine's error text and maps its status to an error kind. */
function refusalOf(answer: HttpResponse): Error {
  const words = wordsOf(answer).replace(/^invalid parameter "query": /, "");
  const { status } = answer;
  if (status === 400) return new QueryError("bad_data", words);
  if (status === 422 || status === 200) return new QueryError("execution", words);
  if (status === 503 && /timed? ?out|timeout/i.test(words)) return new QueryError("timeout", words);
  if (status === 401 || status === 403 || status === 404)
    return new StoreError("unavailable", `the store refuses to be read (HTTP ${status}): ${words}`);
  return new StoreError("unavailable", `the store responded: ${words}`);
}

function parseJson({ body, url }: HttpResponse): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (thrown) {
    throw new StoreError(
      "unavailable",
      `${new URL(url).origin} answered with something else than JSON`,
      {
        cause: thrown,
      },
    );
  }
}

const isRecord = (given: unknown): given is Record<string, unknown> =>
  typeof given === "object" && given !== null && !Array.isArray(given);

function record(given: unknown): Record<string, unknown> {
  if (!isRecord(given)) throw strange("not an object where one is expected");
  return given;
}

function list(given: unknown): readonly unknown[] {
  if (!Array.isArray(given)) throw strange("not a list where one is expected");
  return given;
}

const texts = (given: unknown): string[] =>
  Array.isArray(given) ? given.filter((text) => typeof text === "string") : [];

const strange = (what: string): StoreError =>
  new StoreError("unavailable", `the store answered otherwise than Prometheus does: ${what}`);
