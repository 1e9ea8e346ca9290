/** OTLP metrics as both of their encodings are read into: no more of them than becomes samples. */
import type { Exemplar } from "../../../model/exemplar.ts";

export interface OtlpResource {
  readonly attributes: Attributes;
  readonly metrics: readonly OtlpMetric[];
}

/** Values as texts; in order of their keys. */
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
  /** When counting began; 0 where the sender does not report it. */
  readonly startMs: number;
  readonly exemplars: readonly Exemplar[];
  /** Of gauges and sums; absent where the sender left it out. */
  readonly value: number | undefined;
  readonly count: number;
  readonly sum: number | undefined;
  /** Each bucket's own count; one more than there are bounds. */
  readonly bucketCounts: readonly number[];
  readonly bounds: readonly number[];
  readonly quantiles: readonly (readonly [quantile: number, value: number])[];
  /** Of exponential histograms. */
  readonly exponential: ExponentialPoint | undefined;
}

export interface ExponentialPoint {
  readonly scale: number;
  readonly zeroCount: number;
  readonly zeroThreshold: number;
  readonly positive: ExponentialBuckets;
  readonly negative: ExponentialBuckets;
}

/** Bucket `offset + i` has the observations above base^(offset + i) up to base^(offset + i + 1). */
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

/** Far more than a series may have labels. */
export const maxAttributes = 1_024;

/** What was sent is no OTLP metrics request. */
export class OtlpError extends Error {}
