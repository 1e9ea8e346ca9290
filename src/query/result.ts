/** The result types of a query. */
import type { Histogram } from "../model/histogram/histogram.ts";
import type { LabelSet } from "../model/labels.ts";

export interface VectorSample {
  readonly labels: LabelSet;
  readonly timeMs: number;
  /** NaN if the sample is a native histogram. */
  readonly value: number;
  readonly histogram?: Histogram | undefined;
}

export interface HistogramPoint {
  readonly timeMs: number;
  readonly histogram: Histogram;
}

export interface MatrixSeries {
  readonly labels: LabelSet;
  /** Timestamps of the floats. */
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly histograms?: readonly HistogramPoint[] | undefined;
}

export type QueryData =
  | { readonly type: "vector"; readonly samples: readonly VectorSample[] }
  | { readonly type: "matrix"; readonly series: readonly MatrixSeries[] }
  | { readonly type: "scalar"; readonly timeMs: number; readonly value: number }
  | { readonly type: "string"; readonly timeMs: number; readonly value: string };

export interface QueryStats {
  readonly totalSamples: number;
  readonly peakSamples: number;
  /** [time, samples] for each step, if requested. */
  readonly samplesPerStep?: readonly (readonly [timeMs: number, samples: number])[] | undefined;
  readonly selectMs: number;
  readonly evalMs: number;
}

export interface QueryResult {
  readonly data: QueryData;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  readonly stats: QueryStats;
}
