/**
 * Parses a page of metrics in the protobuf exposition, as Prometheus does: MetricFamily messages, each preceded by its length. The
 * only format with native histograms.
 *
 *   MetricFamily { string name = 1; string help = 2; MetricType type = 3; Metric metric = 4; string unit = 5; }
 *   Metric { LabelPair label = 1; Gauge gauge = 2; Counter counter = 3; Summary summary = 4; Untyped untyped = 5;
 *            int64 timestamp_ms = 6; Histogram histogram = 7; }
 */
import { checkHistogram } from "../../model/histogram/check.ts";
import type { Label, LabelSet } from "../../model/labels.ts";
import { ProtoError, ProtoReader } from "../protobuf/reader.ts";
import {
  ExposedHistogram,
  type ExposedNumber,
  type ExposedSummary,
  readNumber,
  readPair,
  readSummary,
} from "./protobuf-message.ts";
import { openMetricsFloat } from "./open-metrics-float.ts";
import type { SeriesMemory } from "./series-memory.ts";
import type { PageExemplar, PageVisitor } from "./visit.ts";

export interface ProtobufPageOptions {
  /** If false, only classic histograms are read. */
  readonly hasNative: boolean;
  /** Reads classic buckets even if the metric has native ones. */
  readonly alwaysClassic: boolean;
}

const types = ["counter", "gauge", "summary", "unknown", "histogram", "gaugehistogram"] as const;
type MetricType = (typeof types)[number];

/** @throws ProtoError if the bytes are not such a page; the caller must discard what the visitor has received. */
export function parseProtobufPage<Handle>(
  body: Buffer,
  memory: SeriesMemory<Handle>,
  visitor: PageVisitor<Handle>,
  options: ProtobufPageOptions,
): void {
  const page = new ProtobufPage(body, memory, visitor, options);
  try {
    const reader = new ProtoReader(body, 0, body.length);
    while (reader.hasMore) page.family(reader.message());
  } catch (thrown) {
    memory.abandonPage();
    throw thrown;
  }
}

/** One Metric, before its type is known: fields may come in any order. */
interface ExposedMetric {
  readonly labels: Label[];
  /** The bytes of the label fields, one character per byte: the series' key in the memory. */
  labelText: string;
  timeMs: number | undefined;
  number: ExposedNumber | undefined;
  summary: ExposedSummary | undefined;
  histogram: ExposedHistogram | undefined;
}

class ProtobufPage<Handle> {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #memory: SeriesMemory<Handle>;
  readonly #visitor: PageVisitor<Handle>;
  readonly #options: ProtobufPageOptions;
  #family = "";

  constructor(
    bytes: Buffer,
    memory: SeriesMemory<Handle>,
    visitor: PageVisitor<Handle>,
    options: ProtobufPageOptions,
  ) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#memory = memory;
    this.#visitor = visitor;
    this.#options = options;
    memory.beginPage();
  }

  family(reader: ProtoReader): void {
    let [name, help, unit] = ["", "", ""];
    let type: MetricType = "counter";
    const metrics: ProtoReader[] = [];
    while (reader.next()) {
      const { field, wireType } = reader;
      if (field === 1 && wireType === 2) name = reader.text();
      else if (field === 2 && wireType === 2) help = reader.text();
      else if (field === 3 && wireType === 0) type = typeOf(reader.int64());
      else if (field === 4 && wireType === 2) metrics.push(reader.message());
      else if (field === 5 && wireType === 2) unit = reader.text();
      else reader.skip();
    }
    if (name === "") throw new ProtoError("a metric family has no name");
    this.#family = name;
    this.#visitor.metadata?.("type", name, type);
    if (help !== "") this.#visitor.metadata?.("help", name, help);
    if (unit !== "") this.#visitor.metadata?.("unit", name, unit);
    for (const metric of metrics) this.#metric(this.#read(metric), type);
  }

  #read(reader: ProtoReader): ExposedMetric {
    const metric: ExposedMetric = {
      labels: [],
      labelText: "",
      timeMs: undefined,
      number: undefined,
      summary: undefined,
      histogram: undefined,
    };
    while (reader.next()) {
      const { field, wireType } = reader;
      if (field === 6 && wireType === 0) metric.timeMs = reader.int64() || undefined;
      else if (wireType !== 2) reader.skip();
      else if (field === 1) {
        const start = reader.fieldStart;
        metric.labels.push(readPair(reader.message()));
        metric.labelText += this.#bytes.toString("latin1", start, reader.position);
      } else if (field === 2 || field === 3 || field === 5)
        metric.number = readNumber(reader.message());
      else if (field === 4) metric.summary = readSummary(reader.message());
      else if (field === 7)
        metric.histogram = new ExposedHistogram().read(reader.message(), this.#view);
      else reader.skip();
    }
    return metric;
  }

  #metric(metric: ExposedMetric, type: MetricType): void {
    if (type === "summary") this.#summary(metric, metric.summary ?? noSummary);
    else if (type === "histogram" || type === "gaugehistogram")
      this.#histogram(metric, metric.histogram ?? new ExposedHistogram(), type);
    else {
      const { value, startMs, exemplar } = metric.number ?? noNumber;
      const isCounter = type === "counter";
      this.#put(
        metric,
        "",
        undefined,
        value,
        isCounter ? startMs : 0,
        isCounter ? exemplar : undefined,
      );
    }
  }

  #summary(metric: ExposedMetric, { count, sum, startMs, quantiles }: ExposedSummary): void {
    this.#put(metric, "_count", undefined, count, startMs);
    this.#put(metric, "_sum", undefined, sum, startMs);
    for (const [quantile, value] of quantiles)
      this.#put(metric, "", ["quantile", openMetricsFloat(quantile)], value, startMs);
  }

  #histogram(metric: ExposedMetric, histogram: ExposedHistogram, type: MetricType): void {
    const { startMs, buckets } = histogram;
    if (this.#options.hasNative && histogram.isNative) {
      if (type === "gaugehistogram") histogram.resetHint = "gauge";
      const handle = this.#handle(metric, "", undefined);
      const checked = checkHistogram(histogram);
      this.#visitor.histogram?.(handle, checked, metric.timeMs);
      if (startMs > 0) this.#visitor.start?.(handle, startMs);
      // If a client sets no exemplars of its own for native histograms, those of the classic buckets are used.
      const exemplars =
        histogram.exemplars.length > 0
          ? histogram.exemplars
          : buckets.flatMap(({ exemplar }) => exemplar ?? []);
      for (const exemplar of exemplars)
        if (exemplar.timeMs !== undefined) this.#visitor.exemplar?.(handle, exemplar);
      if (!this.#options.alwaysClassic || buckets.length === 0) return;
    }
    this.#put(metric, "_count", undefined, histogram.count, startMs);
    this.#put(metric, "_sum", undefined, histogram.sum, startMs);
    for (const { upperBound, count, exemplar } of buckets)
      this.#put(metric, "_bucket", ["le", openMetricsFloat(upperBound)], count, startMs, exemplar);
    if (buckets.at(-1)?.upperBound !== Infinity)
      this.#put(metric, "_bucket", ["le", "+Inf"], histogram.count, startMs);
  }

  #put(
    metric: ExposedMetric,
    suffix: string,
    extra: Label | undefined,
    value: number,
    startMs: number,
    exemplar?: PageExemplar,
  ): void {
    const handle = this.#handle(metric, suffix, extra);
    this.#visitor.sample(handle, value, metric.timeMs);
    if (startMs > 0) this.#visitor.start?.(handle, startMs);
    if (exemplar !== undefined) this.#visitor.exemplar?.(handle, exemplar);
  }

  #handle({ labels, labelText }: ExposedMetric, suffix: string, extra: Label | undefined): Handle {
    // No text page contains the first character.
    const text = `\0${this.#family}\0${suffix}\0${extra?.[1] ?? ""}\0${labelText}`;
    let line = this.#memory.find(text);
    if (line === undefined) {
      const all: Label[] = [["__name__", this.#family + suffix], ...labels];
      if (extra !== undefined) all.push(extra);
      const { kept, emptied } = checkedLabels(all);
      line = this.#memory.add(text, true, this.#visitor.open(kept, emptied));
    }
    return this.#memory.see(line);
  }
}

const noNumber: ExposedNumber = { value: 0, startMs: 0, exemplar: undefined };
const noSummary: ExposedSummary = { count: 0, sum: 0, startMs: 0, quantiles: [] };

function typeOf(number: number): MetricType {
  const type = types[number];
  if (type === undefined) throw new ProtoError(`metric type ${number} is unknown`);
  return type;
}

function checkedLabels(all: Label[]): { kept: LabelSet; emptied: readonly string[] } {
  all.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  let last = "";
  for (const [name] of all) {
    if (name === "") throw new ProtoError("a label has no name");
    if (name === last) throw new ProtoError(`label ${JSON.stringify(name)} occurs twice`);
    last = name;
  }
  const emptied = all.flatMap(([name, value]) => (value === "" ? [name] : []));
  return { kept: emptied.length === 0 ? all : all.filter(([, value]) => value !== ""), emptied };
}
