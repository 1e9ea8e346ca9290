/**
 * Writes a query's result as JSON of Prometheus's API directly into bytes, so that a million points do not become a
 * million strings first.
 */
import { formatValue } from "../formats/prometheus/page.ts";
import { allBuckets, type Histogram, inclusiveBounds } from "../model/histogram/histogram.ts";
import type { LabelSet } from "../model/labels.ts";
import type { MatrixSeries, QueryData, QueryResult, QueryStats } from "./result.ts";

/** A millisecond or two of work. */
const partBytes = 256 * 1024;

export interface ResponseFormat {
  /** Maximum number of series; 0 for no limit. */
  readonly limit: number;
  readonly stats: "none" | "some" | "all";
}

/** Yields parts on demand, so that a large response is never in memory as a whole. */
export function* responseParts(
  result: QueryResult,
  { limit, stats: wantsStats }: ResponseFormat,
): Generator<Buffer, void> {
  const { data, warnings, infos, stats } = limit > 0 ? limited(result, limit) : result;
  const writer = new BytesWriter();
  writer.ascii(`{"status":"success","data":{"resultType":"${data.type}","result":`);
  yield* dataParts(writer, data);
  if (wantsStats !== "none")
    writer.ascii(`,"stats":${JSON.stringify(statsJson(stats, wantsStats === "all"))}`);
  writer.ascii("}");
  writer.text(notes(warnings, infos));
  writer.ascii("}");
  yield writer.take();
}

function* dataParts(writer: BytesWriter, data: QueryData): Generator<Buffer, void> {
  if (data.type === "scalar")
    return writer.ascii(`[${formatSeconds(data.timeMs)},"${formatValue(data.value)}"]`);
  if (data.type === "string")
    return writer.text(`[${formatSeconds(data.timeMs)},${JSON.stringify(data.value)}]`);
  const times = new TimeTexts();
  let comma = "";
  writer.ascii("[");
  for (const one of data.type === "vector" ? data.samples : data.series) {
    writer.ascii(`${comma}{"metric":`);
    comma = ",";
    writer.text(labelsJson(one.labels));
    if ("times" in one) writeValues(writer, one, times);
    else if (one.histogram !== undefined)
      writer.ascii(`,"histogram":[${formatSeconds(one.timeMs)},${histogramJson(one.histogram)}]}`);
    else writer.ascii(`,"value":[${formatSeconds(one.timeMs)},"${formatValue(one.value)}"]}`);
    if (writer.length >= partBytes) yield writer.take();
  }
  writer.ascii("]");
}

function writeValues(
  writer: BytesWriter,
  { times, values, histograms = [] }: MatrixSeries,
  texts: TimeTexts,
): void {
  if (histograms.length > 0) {
    const points = histograms.map(
      ({ timeMs, histogram }) => `[${formatSeconds(timeMs)},${histogramJson(histogram)}]`,
    );
    writer.ascii(`,"histograms":[${points.join(",")}]`);
    if (times.length === 0) return writer.ascii("}");
  }
  writer.ascii(',"values":[');
  for (let index = 0; index < times.length; index++) {
    if (index > 0) writer.ascii(",");
    writer.raw(texts.of(times[index] ?? 0));
    writer.ascii(`${formatValue(values[index] ?? Number.NaN)}"]`);
  }
  writer.ascii("]}");
}

function histogramJson(histogram: Histogram): string {
  const { count, sum } = histogram;
  const buckets = allBuckets(histogram)
    .filter((bucket) => bucket.count !== 0)
    .map((bucket) => {
      const { lower, upper } = inclusiveBounds(bucket, histogram);
      // The API's codes: 0 upper bound inclusive, 1 lower bound inclusive, 3 both.
      const rule = lower ? (upper ? 3 : 1) : 0;
      const numbers = [bucket.lower, bucket.upper, bucket.count];
      return `[${rule},${numbers.map((value) => `"${formatValue(value)}"`).join(",")}]`;
    });
  const listed = buckets.length === 0 ? "" : `,"buckets":[${buckets.join(",")}]`;
  return `{"count":"${formatValue(count)}","sum":"${formatValue(sum)}"${listed}}`;
}

/** Caches formatted timestamps, because all series of a range query have the same ones. */
class TimeTexts {
  readonly #known = new Map<number, Buffer>();

  of(timeMs: number): Buffer {
    const known = this.#known.get(timeMs);
    if (known !== undefined) return known;
    const made = Buffer.from(`[${formatSeconds(timeMs)},"`, "latin1");
    // Limited, because the timestamps of raw samples may all differ and caching unique ones is useless.
    if (this.#known.size < 100_000) this.#known.set(timeMs, made);
    return made;
  }
}

/** Limits the number of series, with a warning if there were more. */
function limited(result: QueryResult, limit: number): QueryResult {
  const data: QueryData =
    result.data.type === "vector"
      ? { type: "vector", samples: result.data.samples.slice(0, limit) }
      : result.data.type === "matrix"
        ? { type: "matrix", series: result.data.series.slice(0, limit) }
        : result.data;
  const before =
    result.data.type === "vector"
      ? result.data.samples.length
      : result.data.type === "matrix"
        ? result.data.series.length
        : 0;
  return before <= limit
    ? result
    : { ...result, data, warnings: [...result.warnings, "results truncated due to limit"] };
}

/** Maximum number of annotations of one kind in a response; the rest is only counted. */
const maxAnnotations = 10;

export function notes(warnings: readonly string[], infos: readonly string[]): string {
  const list = (kind: "warning" | "info", texts: readonly string[]): string =>
    texts.length === 0 ? "" : `,"${kind}s":${JSON.stringify(listAnnotations(kind, texts))}`;
  return list("warning", warnings) + list("info", infos);
}

export function listAnnotations(
  kind: "warning" | "info",
  texts: readonly string[],
): readonly string[] {
  const omitted = texts.length - maxAnnotations;
  if (omitted <= 0) return texts;
  return [...texts.slice(0, maxAnnotations), `${omitted} more ${kind} annotations omitted`];
}

/** Formats milliseconds as seconds with up to three decimals, exactly. */
export function formatSeconds(timeMs: number): string {
  const whole = Math.trunc(timeMs / 1_000);
  const rest = Math.abs(timeMs % 1_000);
  if (rest === 0) return String(whole);
  const sign = timeMs < 0 && whole === 0 ? "-" : "";
  return `${sign}${whole}.${String(rest).padStart(3, "0").replace(/0+$/, "")}`;
}

export function labelsJson(labels: LabelSet): string {
  let text = "{";
  for (const [name, value] of labels)
    text += `${text === "{" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `${text}}`;
}

function statsJson(stats: QueryStats, all: boolean): unknown {
  const evalSeconds = stats.evalMs / 1_000;
  const selectSeconds = stats.selectMs / 1_000;
  return {
    timings: {
      evalTotalTime: evalSeconds + selectSeconds,
      queryPreparationTime: selectSeconds,
      innerEvalTime: evalSeconds,
      execTotalTime: evalSeconds + selectSeconds,
    },
    samples: {
      totalQueryableSamples: stats.totalSamples,
      peakSamples: stats.peakSamples,
      ...(all && stats.samplesPerStep !== undefined
        ? {
            totalQueryableSamplesPerStep: stats.samplesPerStep.map(([timeMs, count]) => [
              timeMs / 1_000,
              count,
            ]),
          }
        : {}),
    },
  };
}

class BytesWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(initialBytes = 64 * 1024) {
    this.#bytes = Buffer.allocUnsafe(initialBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Writes text of one-byte characters only, such as numbers and JSON syntax. */
  ascii(text: string): void {
    this.#room(text.length);
    this.#length += this.#bytes.write(text, this.#length, "latin1");
  }

  /** Writes any text as UTF-8. */
  text(text: string): void {
    this.#room(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length, "utf8");
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Returns a copy of the bytes written since the last call. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.allocUnsafe(this.#bytes.length);
    this.#length = 0;
    return taken;
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
