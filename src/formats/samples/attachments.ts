/** The parts of a batch besides its columns, while it is built: native histograms, exemplars, start times, and refused ones. */
import type { Exemplar } from "../../model/exemplar.ts";
import type { HistogramFault } from "../../model/histogram/check.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { BatchExemplar, BatchStart, RefusedHistograms, SampleBatch } from "./batch.ts";
import { ProtoError } from "../protobuf/reader.ts";
import { BatchTooLargeError } from "./labels.ts";

/** Prometheus sends 2,000 samples at a time. */
const maxBatchHistograms = 2 ** 18;
const maxBatchExemplars = 2 ** 18;
/** Total of all histograms: 48 MiB. */
const maxBatchBuckets = 2 ** 22;
/** Prometheus's limit for names and values of an exemplar's labels, in characters. */
const maxExemplarText = 128;

type AttachedParts = Pick<
  SampleBatch,
  "histograms" | "exemplars" | "starts" | "refusedHistograms" | "droppedExemplars"
>;

export class BatchAttachments {
  #histograms: Histogram[] | undefined;
  #exemplars: BatchExemplar[] | undefined;
  #starts: BatchStart[] | undefined;
  #refused: Map<string, RefusedHistograms> | undefined;
  #buckets = 0;
  #droppedExemplars = 0;

  /** Returns the histogram's index in the list, which is the low word of its sample. */
  histogram(histogram: Histogram): number {
    this.#histograms ??= [];
    if (this.#histograms.length >= maxBatchHistograms)
      throw new BatchTooLargeError(`${maxBatchHistograms} native histograms`);
    this.#buckets += histogram.positive.counts.length + histogram.negative.counts.length;
    if (this.#buckets > maxBatchBuckets)
      throw new BatchTooLargeError(`${maxBatchBuckets} buckets of native histograms`);
    return this.#histograms.push(histogram) - 1;
  }

  refuse({ reason, problem }: HistogramFault): void {
    this.#refused ??= new Map();
    const before = this.#refused.get(reason);
    this.#refused.set(reason, {
      reason,
      problem: before?.problem ?? problem,
      count: (before?.count ?? 0) + 1,
    });
  }

  /** Drops and counts an exemplar whose labels are malformed, or longer than Prometheus allows. */
  exemplar(series: number, read: () => Exemplar): void {
    const exemplar = exemplarFrom(read);
    if (exemplar === undefined) {
      this.#droppedExemplars++;
      return;
    }
    this.#exemplars ??= [];
    if (this.#exemplars.length >= maxBatchExemplars)
      throw new BatchTooLargeError(`${maxBatchExemplars} exemplars`);
    this.#exemplars.push({ ...exemplar, series });
  }

  start(start: BatchStart): void {
    this.#starts ??= [];
    this.#starts.push(start);
  }

  finish(): AttachedParts {
    return {
      histograms: this.#histograms,
      exemplars: this.#exemplars,
      starts: this.#starts,
      refusedHistograms: this.#refused === undefined ? [] : [...this.#refused.values()],
      droppedExemplars: this.#droppedExemplars,
    };
  }
}

function exemplarFrom(read: () => Exemplar): Exemplar | undefined {
  try {
    const exemplar = read();
    let text = 0;
    for (const [name, value] of exemplar.labels) text += name.length + value.length;
    return text > maxExemplarText ? undefined : exemplar;
  } catch (thrown) {
    if (thrown instanceof ProtoError) return undefined;
    throw thrown;
  }
}
