/** Converts samples of GPU exporters to frames, for batches that hold complete instants: scraped pages and query results. */
import { isStale } from "../../model/stale.ts";
import { type SampleBatch, wordsOf } from "../samples/batch.ts";
import { ExporterInstant } from "./instant.ts";
import { OwnFramePlan } from "./own-frame.ts";
import {
  type ExporterLimits,
  type KnownSeries,
  type SampleOrigin,
  SeriesCache,
} from "./series-cache.ts";
import type { ExporterFrame } from "./targets.ts";

export class ExporterFrames {
  readonly #cache: SeriesCache;
  /** By the series of a batch, the same list as long as its columns are. */
  readonly #plans = new WeakMap<readonly (KnownSeries | null)[], OwnFramePlan>();

  constructor(limits: Partial<ExporterLimits> = {}) {
    this.#cache = new SeriesCache(limits);
  }

  get ignoredSeries(): number {
    return this.#cache.ignoredSeries;
  }

  /** One frame per target and instant, in order of time. Series that do not belong to a GPU are ignored. */
  frames(batch: SampleBatch): readonly ExporterFrame[] {
    const known = this.#cache.all(batch);
    if (known === undefined) return [];
    const planned = this.#plans.get(known)?.frame(batch);
    if (planned !== undefined) return [planned];
    const frames = this.#read(batch, known);
    const [only] = frames;
    if (only !== undefined && frames.length === 1) {
      const plan = OwnFramePlan.of(batch, known, only);
      if (plan !== undefined) this.#plans.set(known, plan);
    }
    return frames;
  }

  #read(batch: SampleBatch, known: readonly (KnownSeries | null)[]): readonly ExporterFrame[] {
    const words = wordsOf(batch);
    const origins = new Map<SampleOrigin, Map<number, ExporterInstant>>();
    for (let at = 0; at < batch.sampleCount; at++) {
      const series = known[batch.sampleSeries[at] as number];
      if (series === undefined || series === null) continue;
      let instants = origins.get(series.origin);
      if (instants === undefined)
        origins.set(series.origin, (instants = new Map<number, ExporterInstant>()));
      const timeMs = batch.times[at] as number;
      let instant = instants.get(timeMs);
      if (instant === undefined) instants.set(timeMs, (instant = new ExporterInstant(timeMs)));
      instant.add(series, batch.values[at] as number, isStale(words, at));
    }
    return [...origins.values()].flatMap((instants) =>
      [...instants.values()]
        .sort((left, right) => left.timeMs - right.timeMs)
        .flatMap((instant) => instant.frames()),
    );
  }
}
