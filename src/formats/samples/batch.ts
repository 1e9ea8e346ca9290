/**
 * Samples on their way in or out, as columns: what every format that carries samples is decoded to and encoded from. No
 * object per sample; a series is its label block, whose bytes are what remote-write 1.0 puts on the wire.
 */

export interface Metadata {
  readonly family: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** A series' label block is its encoded labels (`repeated Label labels = 1`), in order: equal bytes are the same series. */
export interface SampleBatch {
  readonly bytes: Uint8Array;
  readonly seriesCount: number;
  /** Where in `bytes` each series' label block stands. */
  readonly labelStarts: Uint32Array;
  readonly labelEnds: Uint32Array;
  readonly sampleCount: number;
  /** Which series each sample belongs to. */
  readonly sampleSeries: Uint32Array;
  readonly times: Float64Array;
  /** Copied bit for bit: a stale marker is a NaN whose payload matters, and must never pass through a number. */
  readonly values: Float64Array;
  readonly metadata: readonly Metadata[];
  /** Kinds that are not kept, counted by whoever receives them. */
  readonly droppedExemplars: number;
  readonly droppedHistograms: number;
}
