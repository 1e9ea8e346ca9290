/**
 * Turns samples from other senders into frames, one per timestamp in a request. A name in the catalogue becomes that metric, whichever
 * program collected it; any other becomes a plain number with its own labels. A staleness marker ends a series and is not a value.
 */
import { resolveMetric } from "../formats/message/schema.ts";
import { openMetricsFloat } from "../formats/exposition/open-metrics-float.ts";
import { ClassicBounds, type ClassicHistogram } from "../formats/samples/classic.ts";
import { histogramAt, type SampleBatch, wordsOf } from "../formats/samples/batch.ts";
import { readLabelBlock } from "../formats/samples/labels.ts";
import { findMetric, gpu, type MetricEntry } from "../model/catalogue/index.ts";
import { type Device, deviceFromLabels } from "../model/device.ts";
import type { Frame } from "../model/frame.ts";
import { type LabelSet, labelValue } from "../model/labels.ts";
import {
  type Layout,
  LayoutBuilder,
  type SampleSuffix,
  type Series,
  seriesKey,
} from "../model/layout.ts";
import { presence } from "../model/presence.ts";
import { isStale } from "../model/stale.ts";

export interface ReceivedFrames {
  readonly frames: readonly Frame[];
  /** Native histograms converted to classic ones, since a frame contains only numbers; those with too many buckets are dropped. */
  readonly histograms: number;
  readonly droppedHistograms: number;
  /** Series without a name, or with invalid labels. */
  readonly badSeries: number;
}

/** Limit of cached series, layouts and GPUs; the cache is emptied if a sender exceeds it by changing them all the time. */
const maxCachedSeries = 100_000;

interface SeriesOfName {
  readonly key: string;
  readonly series: Series;
}

interface SeriesValue extends SeriesOfName {
  readonly value: number;
  readonly state: number;
}

const asEnded = (one: SeriesOfName): SeriesValue => ({ ...one, value: 0, state: presence.ended });

export class SampleFrames {
  readonly #series = new Map<string, SeriesOfName | null>();
  readonly #layouts = new Map<string, Layout>();
  readonly #devices = new Map<string, Device>();
  readonly #plain = new Map<string, MetricEntry>();
  /** Bounds of the series that have been native histograms. */
  readonly #classic = new Map<string, ClassicBounds>();

  devices(): readonly Device[] {
    return [...this.#devices.values()];
  }

  frames(batch: SampleBatch): ReceivedFrames {
    const words = wordsOf(batch);
    const text = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
    const known = Array.from({ length: batch.seriesCount }, (_, series) =>
      this.#seriesAt(batch, series, text),
    );
    let [histograms, droppedHistograms] = [0, 0];
    const instants = new Map<number, Map<string, SeriesValue>>();
    for (let at = 0; at < batch.sampleCount; at++) {
      const found = known[batch.sampleSeries[at] as number];
      if (found === undefined || found === null) continue;
      const timeMs = batch.times[at] as number;
      let readings = instants.get(timeMs);
      if (readings === undefined) instants.set(timeMs, (readings = new Map<string, SeriesValue>()));
      const native = histogramAt(batch, words, at);
      if (native !== undefined) {
        const classic = this.#classicOf(found.key).convert(native);
        if (classic === undefined) droppedHistograms++;
        else {
          histograms++;
          for (const one of this.#classicValues(found, classic)) readings.set(one.key, one);
        }
        continue;
      }
      const bounds = isStale(words, at) ? this.#classic.get(found.key)?.end() : undefined;
      if (bounds !== undefined && bounds.length > 0) {
        for (const one of this.#endedValues(found, bounds)) readings.set(one.key, one);
        continue;
      }
      const value = batch.values[at] as number;
      const state = isStale(words, at)
        ? presence.ended
        : Number.isFinite(value)
          ? presence.present
          : presence.failed;
      readings.set(found.key, { ...found, value, state });
    }
    const frames = [...instants]
      .filter(([, readings]) => readings.size > 0)
      .sort(([left], [right]) => left - right)
      .map(([timeMs, readings]) => this.#frame(timeMs, [...readings.values()]));
    return {
      frames,
      histograms,
      droppedHistograms,
      badSeries: known.filter((one) => one === null).length,
    };
  }

  #classicOf(key: string): ClassicBounds {
    const known = this.#classic.get(key);
    if (known !== undefined) return known;
    if (this.#classic.size >= maxCachedSeries / 100) this.#classic.clear();
    const made = new ClassicBounds();
    this.#classic.set(key, made);
    return made;
  }

  #classicValues(found: SeriesOfName, { buckets, sum, count, ended }: ClassicHistogram) {
    const present = (one: SeriesOfName, value: number): SeriesValue => ({
      ...one,
      value,
      state: Number.isFinite(value) ? presence.present : presence.failed,
    });
    return [
      ...buckets.map(([bound, below]) => present(this.#part(found, "_bucket", bound), below)),
      present(this.#part(found, "_sum"), sum),
      present(this.#part(found, "_count"), count),
      ...ended.map((bound) => asEnded(this.#part(found, "_bucket", bound))),
    ];
  }

  #endedValues(found: SeriesOfName, bounds: readonly number[]): readonly SeriesValue[] {
    return [
      ...[...bounds, Infinity].map((bound) => asEnded(this.#part(found, "_bucket", bound))),
      asEnded(this.#part(found, "_sum")),
      asEnded(this.#part(found, "_count")),
    ];
  }

  /** A series of the classic histogram. */
  #part({ series }: SeriesOfName, suffix: SampleSuffix, bound?: number): SeriesOfName {
    const named = resolveMetric(`${series.metric.name}${suffix}`, this.#plain);
    const labels =
      bound === undefined
        ? series.labels
        : [...series.labels, ["le", openMetricsFloat(bound)] as const].sort(([a], [b]) =>
            a < b ? -1 : 1,
          );
    const made: Series = { ...named, labels };
    return { key: seriesKey(made), series: made };
  }

  #frame(timeMs: number, readings: readonly SeriesValue[]): Frame {
    const key = readings.map((reading) => reading.key).join("\u0000");
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      const builder = new LayoutBuilder();
      for (const { series } of readings) builder.add(series.metric, series.labels, series.suffix);
      layout = builder.build();
      if (this.#layouts.size >= maxCachedSeries / 100) this.#layouts.clear();
      this.#layouts.set(key, layout);
    }
    return {
      timeMs,
      layout,
      values: Float64Array.from(readings, ({ value, state }) =>
        state === presence.present ? value : 0,
      ),
      presence: Uint8Array.from(readings, ({ state }) => state),
    };
  }

  #seriesAt(batch: SampleBatch, series: number, text: Buffer) {
    const [start, end] = [batch.labelStarts[series] ?? 0, batch.labelEnds[series] ?? 0];
    const block = text.toString("latin1", start, end);
    const known = this.#series.get(block);
    if (known !== undefined) return known;
    const made = this.#make(batch.bytes, start, end);
    if (this.#series.size >= maxCachedSeries) this.#series.clear();
    this.#series.set(block, made);
    return made;
  }

  #make(bytes: Uint8Array, start: number, end: number) {
    let labels: LabelSet;
    try {
      labels = readLabelBlock(bytes, start, end);
    } catch {
      return null;
    }
    const name = labelValue(labels, "__name__");
    if (name === undefined) return null;
    const { metric, suffix } = resolveMetric(name, this.#plain);
    const isOurs = findMetric(metric.name) !== undefined;
    const own = labels.filter(
      ([label]) => label !== "__name__" && !(isOurs && (label === "job" || label === "instance")),
    );
    if (metric === gpu.info) this.#learn(own);
    const series: Series = { metric, suffix, labels: own };
    return { key: seriesKey(series), series };
  }

  #learn(labels: LabelSet): void {
    const device = deviceFromLabels(Object.fromEntries(labels));
    if (device === undefined) return;
    if (this.#devices.size >= maxCachedSeries) this.#devices.clear();
    this.#devices.set(device.uuid, device);
  }
}
