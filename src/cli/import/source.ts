/** The interface of all import formats: batches with their end position, and counts of skipped samples. */
import { copySample, type SampleBatch, wordsOf } from "../../formats/samples/batch.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";

export interface ImportBatch {
  readonly batch: SampleBatch;
  /** Increases with each batch: everything up to here is in this batch or an earlier one. */
  readonly position: number;
  /** Progress from 0 to 1. */
  readonly fraction: number;
}

export interface ImportSource {
  readonly format: string;
  /** Batches up to position `after` were imported before and are skipped. */
  pieces(after: number, signal: AbortSignal): AsyncGenerator<ImportBatch>;
}

/** Samples per request: enough for throughput, few enough to show progress and to retry. */
export const samplesPerImportBatch = 10_000;

const maxListedLines = 5;

/** Counts samples that were not imported, by reason, with the first few line numbers. */
export class SkippedSamples {
  readonly #reasons = new Map<string, { count: number; lines: number[] }>();

  add(reason: string, line?: number, count = 1): void {
    const known = this.#reasons.get(reason) ?? { count: 0, lines: [] };
    this.#reasons.set(reason, known);
    known.count += count;
    if (line !== undefined && known.lines.length < maxListedLines) known.lines.push(line);
  }

  list(): readonly {
    readonly reason: string;
    readonly count: number;
    readonly lines: readonly number[];
  }[] {
    return [...this.#reasons].map(([reason, { count, lines }]) => ({ reason, count, lines }));
  }
}

/** The same batch with labels set on every series. */
export function setLabels(batch: SampleBatch, set: Readonly<Record<string, string>>): SampleBatch {
  if (Object.keys(set).length === 0) return batch;
  const { bytes, labelStarts, labelEnds, sampleSeries } = batch;
  const words = wordsOf(batch);
  const builder = new BatchBuilder();
  for (let series = 0; series < batch.seriesCount; series++) {
    const labels = readLabelBlock(bytes, labelStarts[series] ?? 0, labelEnds[series] ?? 0);
    builder.series(overrideLabels(labels, set));
  }
  for (let at = 0; at < batch.sampleCount; at++) {
    copySample(batch, words, at, builder, sampleSeries[at] ?? 0);
  }
  for (const { series, ...exemplar } of batch.exemplars ?? [])
    builder.addExemplar(series, exemplar);
  return builder.finish();
}

/** Labels set by the user override those of the file. */
export function overrideLabels(labels: LabelSet, set: Readonly<Record<string, string>>): LabelSet {
  return labelSet({ ...Object.fromEntries(labels), ...set });
}
