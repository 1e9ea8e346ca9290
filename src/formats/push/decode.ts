/**
 * Decodes plain JSON, as short scripts send it, into columns. Invalid entries are skipped and reported with their position and
 * field; the others are accepted.
 *
 *   { "job": "bench", "instance": "box1", "labels": {…}, "time": 1790000000.5,
 *     "metrics": [ { "name": "tokens_total", "value": 42, "labels": {…}, "time": …, "type": "counter", "help": "…" } ] }
 *
 * Everything except `metrics`, `name` and `value` is optional; `metrics` may be `{ "tokens_total": 42 }`; a metric may be sent
 * without an envelope; and the body may be a list of these, or one per line. Times are Unix seconds or RFC 3339.
 */
import type { Label } from "../../model/labels.ts";
import type { SampleBatch } from "../samples/batch.ts";
import { BatchBuilder } from "../samples/builder.ts";
import {
  BatchTooLargeError,
  maxBadParts,
  maxBatchLabelBytes,
  maxBatchMetadata,
  maxBatchSeries,
} from "../samples/labels.ts";
import {
  EntryError,
  isObject,
  type JsonObject,
  readLabels,
  readName,
  readTimeMs,
  readValue,
} from "./read.ts";

export interface BadEntry {
  /** Such as `[2].metrics[0].value`. */
  readonly at: string;
  readonly error: string;
}

export interface DecodedPush {
  readonly batch: SampleBatch;
  readonly badCount: number;
  /** The first `reportedEntries` of them. */
  readonly bad: readonly BadEntry[];
}

const reportedEntries = 10;
const envelopeKeys = new Set(["job", "instance", "labels", "time", "metrics"]);
const metricKeys = new Set([
  "job",
  "instance",
  "name",
  "value",
  "labels",
  "time",
  "type",
  "help",
  "unit",
]);
const types = ["counter", "gauge", "histogram", "summary", "info", "unknown"];

/** @throws SyntaxError if the text is not JSON, or almost no entry is valid. */
export function decodePush(text: string, nowMs: number): DecodedPush {
  const reader = new PushReader(nowMs);
  for (const [document, at] of documents(text)) {
    if (Array.isArray(document))
      document.forEach((entry, index) => reader.entry(entry, `${at}[${index}]`));
    else reader.entry(document, at);
  }
  return reader.finish();
}

/** One document, or one per line. */
function documents(text: string): (readonly [document: unknown, at: string])[] {
  try {
    return [[JSON.parse(text), ""]];
  } catch (thrown) {
    const lines = text.split("\n");
    const found = lines.flatMap((line, index) =>
      line.trim() === "" ? [] : ([[line, `line ${index + 1}: `]] as const),
    );
    if (found.length < 2) throw thrown;
    return found.map(([line, at]) => {
      try {
        return [JSON.parse(line), at] as const;
      } catch (cause) {
        throw new SyntaxError(`${at}${cause instanceof Error ? cause.message : ""}`, { cause });
      }
    });
  }
}

class PushReader {
  readonly #builder = new BatchBuilder(maxBatchLabelBytes);
  readonly #nowMs: number;
  readonly #bad: BadEntry[] = [];
  #badCount = 0;
  #learned = 0;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  finish(): DecodedPush {
    return { batch: this.#builder.finish(), badCount: this.#badCount, bad: this.#bad };
  }

  entry(entry: unknown, at: string): void {
    this.#attempt(at, () => {
      if (!isObject(entry)) throw new EntryError("", "must be an object");
      if (!("metrics" in entry)) return this.#metric(entry, new Map(), this.#nowMs);
      refuseUnknown(entry, envelopeKeys);
      const labels = readLabels(entry);
      const timeMs = readTimeMs(entry["time"], this.#nowMs);
      const { metrics } = entry;
      refuseRepeated(labels, metrics);
      if (Array.isArray(metrics))
        return metrics.forEach((metric: unknown, index) =>
          this.#attempt(`${at}.metrics[${index}]`, () => this.#metric(metric, labels, timeMs)),
        );
      if (!isObject(metrics))
        throw new EntryError("metrics", "must be a list, or names with values");
      for (const [name, value] of Object.entries(metrics))
        this.#attempt(`${at}.metrics.${name.slice(0, 100)}`, () =>
          this.#add(name, value, labels, timeMs, ""),
        );
    });
  }

  #metric(metric: unknown, outer: ReadonlyMap<string, string>, outerMs: number): void {
    if (!isObject(metric)) throw new EntryError("", "must be an object with name and value");
    refuseUnknown(metric, metricKeys);
    const name = readName(metric["name"], "name");
    const labels = new Map([...outer, ...readLabels(metric)]);
    const timeMs = readTimeMs(metric["time"], outerMs);
    this.#add(name, metric["value"], labels, timeMs, "value");
    const { type, help, unit } = metric;
    if (type === undefined && help === undefined && unit === undefined) return;
    if (type !== undefined && !types.includes(type as string))
      throw new EntryError("type", `must be one of ${types.join(", ")}`);
    if (this.#learned++ >= maxBatchMetadata) return;
    this.#builder.learn({
      family: name,
      type: typeof type === "string" ? type : "unknown",
      help: typeof help === "string" ? help : "",
      unit: typeof unit === "string" ? unit : "",
    });
  }

  #add(
    name: string,
    given: unknown,
    labels: ReadonlyMap<string, string>,
    timeMs: number,
    field: string,
  ): void {
    const value = readValue(given, field);
    if (this.#builder.seriesCount >= maxBatchSeries) throw new BatchTooLargeError();
    const all: Label[] = [...labels, ["__name__", readName(name, "name")]];
    const series = this.#builder.series(
      all.filter(([, text]) => text !== "").sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    this.#builder.add(series, timeMs, value);
  }

  #attempt(at: string, work: () => void): void {
    try {
      work();
    } catch (thrown) {
      if (!(thrown instanceof EntryError)) throw thrown;
      if (++this.#badCount > maxBadParts)
        throw new SyntaxError(`more than ${maxBadParts} entries are not understood`);
      const place = thrown.field === "" ? at : `${at}.${thrown.field}`;
      if (this.#bad.length < reportedEntries)
        this.#bad.push({ at: place.replace(/^\.|(?<=: )\./, ""), error: thrown.message });
    }
  }
}

/** Labels of an envelope are stored with each of its series: checks their total size before the first series is created. */
function refuseRepeated(labels: ReadonlyMap<string, string>, metrics: unknown): void {
  const count = Array.isArray(metrics) ? metrics.length : 0;
  const bytes = [...labels].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (count * bytes > maxBatchLabelBytes)
    throw new BatchTooLargeError(`${maxBatchLabelBytes / 2 ** 20} MiB of labels`);
}

function refuseUnknown(entry: JsonObject, known: ReadonlySet<string>): void {
  for (const key of Object.keys(entry))
    if (!known.has(key))
      throw new EntryError(key.slice(0, 100), `is not known: there are ${[...known].join(", ")}`);
}
