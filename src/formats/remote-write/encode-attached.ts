/**
 * Encodes native histograms and exemplars of a batch as fields of a TimeSeries, in 1.0 and 2.0 (see decode-histogram.ts for the
 * messages).
 */
import type { Histogram } from "../../model/histogram/histogram.ts";
import { resetHints } from "../protobuf/histogram-parts.ts";
import { type HistogramFields, putDoubles, putHistogram } from "../protobuf/put-histogram.ts";
import { ProtoWriter } from "../protobuf/writer.ts";
import {
  type BatchExemplar,
  histogramOf,
  type SampleBatch,
  type SeriesGrouping,
  wordsOf,
} from "../samples/batch.ts";

const histogramFields: HistogramFields = {
  count: 1,
  countFloat: 2,
  sum: 3,
  schema: 4,
  zeroThreshold: 5,
  zeroCount: 6,
  zeroCountFloat: 7,
  negative: { spans: 8, deltas: 9, counts: 10 },
  positive: { spans: 11, deltas: 12, counts: 13 },
};
const resetHintTag = 14 << 3;
const timeTag = 15 << 3;
const boundsField = 16;
const startTag = 17 << 3;

export interface AttachedFields {
  /** The grouping of the float samples. */
  readonly floats: SeriesGrouping;
  /** The other fields of a series. */
  of(series: number): Uint8Array;
}

export interface AttachedFieldTags {
  readonly histogram: number;
  readonly exemplar: number;
  /** True for 2.0, which has start times. */
  readonly hasStarts: boolean;
  putLabels(writer: ProtoWriter, labels: BatchExemplar["labels"]): void;
}

/** Undefined for a batch of only floats, the most common case. */
export function attachedFields(
  batch: SampleBatch,
  grouping: SeriesGrouping,
  tags: AttachedFieldTags,
): AttachedFields | undefined {
  if (batch.histograms === undefined && batch.exemplars === undefined) return undefined;
  const fields = new Map<number, ProtoWriter>();
  const writerOf = (series: number): ProtoWriter => {
    let writer = fields.get(series);
    if (writer === undefined) fields.set(series, (writer = new ProtoWriter(256)));
    return writer;
  };
  const starts = new Map(
    tags.hasStarts ? batch.starts?.map(({ series, startMs }) => [series, startMs]) : [],
  );
  const floats = separate(batch, grouping, (series, timeMs, histogram) =>
    putField(writerOf(series), tags.histogram, histogram, timeMs, starts.get(series)),
  );
  for (const { series, labels, value, timeMs } of batch.exemplars ?? []) {
    const writer = writerOf(series);
    writer.message(tags.exemplar, () => {
      tags.putLabels(writer, labels);
      writer.double(0x11, value);
      writer.int(0x18, timeMs);
    });
  }
  const none = new Uint8Array(0);
  return { floats, of: (series) => fields.get(series)?.finish() ?? none };
}

function putField(
  writer: ProtoWriter,
  tag: number,
  histogram: Histogram,
  timeMs: number,
  startMs: number | undefined,
): void {
  writer.message(tag, () => {
    putHistogram(writer, histogram, histogramFields);
    const hint = resetHints.indexOf(histogram.resetHint);
    if (hint > 0) writer.int(resetHintTag, hint);
    writer.int(timeTag, timeMs);
    putDoubles(writer, boundsField, histogram.bounds);
    if (startMs !== undefined) writer.int(startTag, startMs);
  });
}

/** Passes the histograms to `take`, series by series, and returns the grouping of the floats. */
function separate(
  batch: SampleBatch,
  { order, starts }: SeriesGrouping,
  take: (series: number, timeMs: number, histogram: Histogram) => void,
): SeriesGrouping {
  const words = wordsOf(batch);
  const floatOrder = new Uint32Array(order.length);
  const floatStarts = new Uint32Array(starts.length);
  let place = 0;
  for (let series = 0; series < batch.seriesCount; series++) {
    floatStarts[series] = place;
    for (let at = starts[series] as number; at < (starts[series + 1] as number); at++) {
      const sample = order[at] as number;
      const [low, high] = [words[sample * 2] as number, words[sample * 2 + 1] as number];
      const histogram = histogramOf(batch, low, high);
      if (histogram === undefined) floatOrder[place++] = sample;
      else take(series, batch.times[sample] as number, histogram);
    }
  }
  floatStarts[batch.seriesCount] = place;
  return { order: floatOrder.subarray(0, place), starts: floatStarts };
}
