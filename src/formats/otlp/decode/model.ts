/** The model of OTLP metrics that both encodings are decoded into, reduced to what becomes samples. */
import type { Exemplar } from "../../../model/exemplar.ts";

export interface OtlpResource {
  readonly attributes: Attributes;
  readonly metrics: readonly OtlpMetric[];
}

/** Values as strings, sorted by key. */
export type Attributes = readonly (readonly [key: string, value: string])[];

export type OtlpKind = "gauge" | "sum" | "histogram" | "exponential" | "summary" | "none";

export interface OtlpMetric {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly kind: OtlpKind;
  /** 0 unspecified, 1 delta, 2 cumulative. */
  readonly temporality: number;
  readonly monotonic: boolean;
  readonly points: readonly OtlpPoint[];
}

export interface OtlpPoint {
  readonly attributes: Attributes;
  readonly timeMs: number;
  /** Flag 1: the series ends here. */
  readonly noRecordedValue: boolean;
  /** The start time of the count; 0 if the sender does not report it. */
  readonly startMs: number;
  readonly exemplars: readonly Exemplar[];
  /** The value of a gauge or sum; absent if the sender left it out. */
  readonly value: number | undefined;
  readonly count: number;
  readonly sum: number | undefined;
  /** Count of each bucket, not cumulative; one more than there are bounds. */
  readonly bucketCounts: readonly number[];
  readonly bounds: readonly number[];
  readonly quantiles: readonly (readonly [quantile: number, value: number])[];
  /** Only for exponential histograms. */
  readonly exponential: ExponentialPoint | undefined;
}

export interface ExponentialPoint {
  readonly scale: number;
  readonly zeroCount: number;
  readonly zeroThreshold: number;
  readonly positive: ExponentialBuckets;
  readonly negative: ExponentialBuckets;
}

/** Bucket `offset + i` counts observations above base^(offset + i) and up to base^(offset + i + 1). */
export interface ExponentialBuckets {
  readonly offset: number;
  readonly counts: readonly number[];
}

export const emptyPoint: OtlpPoint = {
  attributes: [],
  timeMs: 0,
  noRecordedValue: false,
  startMs: 0,
  exemplars: [],
  value: undefined,
  count: 0,
  sum: undefined,
  bucketCounts: [],
  bounds: [],
  quantiles: [],
  exponential: undefined,
};

export const sortAttributes = (attributes: (readonly [string, string])[]): Attributes =>
  attributes.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));

/** Deeper than any meaningful attribute; bounds the recursion. */
export const maxDepth = 16;

/** Far above the label limit of a series. */
export const maxAttributes = 1_024;

/** The body is not an OTLP metrics request. */
export class OtlpError extends Error {}
