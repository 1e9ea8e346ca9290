/**
 * Native histograms as an inference server produces them: latencies around one mode per series, with a load that varies over
 * hours.
 */
import { compress } from "snappyjs";
import { encodeWriteRequest } from "../src/formats/remote-write/encode.ts";
import { BatchBuilder } from "../src/formats/samples/builder.ts";
import { type Histogram, noBounds, noBuckets } from "../src/model/histogram/histogram.ts";
import { labelSet } from "../src/model/labels.ts";

export const histogramMetric = "request_duration_seconds";
/** The resolution that client libraries choose for a growth factor of 1.1. */
const schema = 3;
const zeroThreshold = 2 ** -128;

/** Uniform from 0 to 1, the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

/** One series and its counts so far. */
export class LatencySeries {
  readonly #next: () => number;
  readonly #counts = new Map<number, number>();
  readonly #modeSeconds: number;
  readonly #load: number;
  #indexes = new Int32Array(0);
  #count = 0;
  #sum = 0;

  constructor(seed: number) {
    this.#next = random(seed);
    this.#modeSeconds = 0.02 * 2 ** (this.#next() * 5);
    this.#load = 5 + this.#next() * 60;
  }

  /** Returns the counts after another interval. */
  observe(step: number): Histogram {
    const busy = 1 + 0.5 * Math.sin(step / 200 + this.#modeSeconds);
    const observations = Math.floor(this.#load * busy * (0.7 + 0.6 * this.#next()));
    for (let i = 0; i < observations; i++) {
      const normal =
        Math.sqrt(-2 * Math.log(1 - this.#next())) * Math.cos(2 * Math.PI * this.#next());
      const seconds = this.#modeSeconds * Math.exp(0.45 * normal);
      const index = Math.ceil(Math.log2(seconds) * 2 ** schema);
      const before = this.#counts.get(index);
      this.#counts.set(index, (before ?? 0) + 1);
      if (before === undefined) this.#indexes = Int32Array.from(this.#counts.keys()).sort();
      this.#sum += seconds;
    }
    this.#count += observations;
    const counts = Float64Array.from(this.#indexes, (index) => this.#counts.get(index) ?? 0);
    return {
      resetHint: "unknown",
      schema,
      zeroThreshold,
      zeroCount: 0,
      count: this.#count,
      sum: this.#sum,
      positive: { indexes: this.#indexes, counts },
      negative: noBuckets,
      bounds: noBounds,
    };
  }
}

export interface HistogramLoad {
  readonly series: number;
  readonly steps: number;
  readonly stepMs: number;
  readonly startMs: number;
}

const seriesPerRequest = 250;
const stepsPerRequest = 10;

/** Remote-write requests, oldest first. */
export function* histogramRequests({
  series,
  steps,
  stepMs,
  startMs,
}: HistogramLoad): Generator<Buffer> {
  const all = Array.from({ length: series }, (_, at) => ({
    labels: labelSet({
      __name__: histogramMetric,
      instance: `node-${Math.floor(at / 8)}:8000`,
      job: "inference",
      model: `model-${at % 8}`,
    }),
    latency: new LatencySeries(at + 1),
  }));
  for (let from = 0; from < steps; from += stepsPerRequest)
    for (let first = 0; first < series; first += seriesPerRequest) {
      const builder = new BatchBuilder();
      for (const { labels, latency } of all.slice(first, first + seriesPerRequest)) {
        const place = builder.series(labels);
        for (let step = from; step < Math.min(steps, from + stepsPerRequest); step++)
          builder.addHistogram(place, startMs + step * stepMs, latency.observe(step));
      }
      yield Buffer.from(compress(encodeWriteRequest(builder.finish())));
    }
}
