/**
 * Builds frames from samples that arrive in parts. A sender such as Prometheus spreads one scrape over several requests and
 * connections, up to 5 s apart (`batch_send_deadline`): the samples of an origin wait here until their instant is complete. It is
 * complete when it has as many samples as earlier ones, when nothing has arrived for a while, or when newer instants wait behind
 * it.
 */
import { isStale } from "../../model/stale.ts";
import { type SampleBatch, wordsOf } from "../samples/batch.ts";
import { ExporterInstant } from "./instant.ts";
import { findGpuSeries } from "./names.ts";
import {
  type ExporterLimits,
  type KnownSeries,
  type SampleOrigin,
  SeriesCache,
} from "./series-cache.ts";
import type { ExporterFrame } from "./targets.ts";

export interface AssemblyLimits extends ExporterLimits {
  /** Maximum number of waiting samples; further samples are ignored and counted. */
  readonly waitingSamples: number;
}

const quietMs = 6_000;
const longestMs = 15_000;
/** Per origin: more instants wait only while the writer is behind. */
const waitingInstants = 3;
const rememberedSizes = 4;
const defaultWaitingSamples = 1_000_000;

interface WaitingInstant {
  readonly instant: ExporterInstant;
  readonly firstMs: number;
  lastMs: number;
}

interface OriginState {
  /** Keyed by time. */
  readonly waiting: Map<number, WaitingInstant>;
  lastTimeMs: number;
  /** Sample counts of the last complete instants: an agent sends its tiers as separate instants, so that sizes alternate. */
  sizes: readonly number[];
}

export interface AssembledFrames {
  readonly frames: readonly ExporterFrame[];
  /** True for a part of an instant that was already complete, or of an older one: such frames are not the current state. */
  readonly isLate: boolean;
}

export class FrameAssembly {
  readonly #cache: SeriesCache;
  readonly #waitingLimit: number;
  readonly #states = new WeakMap<SampleOrigin, OriginState>();
  readonly #waiting = new Set<OriginState>();
  #waitingSamples = 0;
  #ignoredSamples = 0;

  constructor({ waitingSamples, ...limits }: Partial<AssemblyLimits> = {}) {
    this.#cache = new SeriesCache(limits);
    this.#waitingLimit = waitingSamples ?? defaultWaitingSamples;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Series and samples of GPUs ignored because of a limit, since the start. */
  get ignored(): number {
    return this.#cache.ignoredSeries + this.#ignoredSamples;
  }

  /** Keeps no reference to the batch. */
  add(batch: SampleBatch, nowMs: number): void {
    const picked = findGpuSeries(batch);
    if (picked.length === 0) return;
    const known: (KnownSeries | null)[] = [];
    while (known.length < batch.seriesCount) known.push(null);
    let isKnown = false;
    for (const at of picked) {
      const series = this.#cache.at(batch, at);
      known[at] = series;
      isKnown ||= series !== null;
    }
    if (!isKnown) return;
    const words = wordsOf(batch);
    // Most samples have the same origin and time as the previous one.
    let origin: SampleOrigin | undefined;
    let instant: ExporterInstant | undefined;
    for (let at = 0; at < batch.sampleCount; at++) {
      const series = known[batch.sampleSeries[at] as number];
      if (series === undefined || series === null) continue;
      if (this.#waitingSamples >= this.#waitingLimit) {
        this.#ignoredSamples++;
        continue;
      }
      const timeMs = batch.times[at] as number;
      if (instant === undefined || origin !== series.origin || instant.timeMs !== timeMs) {
        ({ origin } = series);
        instant = this.#instantOf(origin, timeMs, nowMs);
      }
      instant.add(series, batch.values[at] as number, isStale(words, at));
      this.#waitingSamples++;
    }
  }

  /** Yields the complete instants, built on demand; those of one origin in order of time. */
  *ready(nowMs: number, isLast = false): Generator<AssembledFrames> {
    for (const state of this.#waiting) {
      const { waiting } = state;
      for (const timeMs of [...waiting.keys()].sort((left, right) => left - right)) {
        const one = waiting.get(timeMs);
        if (one === undefined || !(isLast || isComplete(one, state, nowMs))) break;
        yield this.#take(state, timeMs, one);
      }
      if (waiting.size === 0) this.#waiting.delete(state);
    }
  }

  #take(state: OriginState, timeMs: number, { instant }: WaitingInstant): AssembledFrames {
    state.waiting.delete(timeMs);
    this.#waitingSamples -= instant.size;
    const isLate = timeMs <= state.lastTimeMs;
    const { sizes, lastTimeMs } = state;
    if (!isLate) state.sizes = [instant.size, ...sizes.slice(0, rememberedSizes - 1)];
    else if (timeMs === lastTimeMs)
      state.sizes = [(sizes[0] ?? 0) + instant.size, ...sizes.slice(1)];
    state.lastTimeMs = Math.max(timeMs, lastTimeMs);
    return { frames: instant.frames(), isLate };
  }

  #instantOf(origin: SampleOrigin, timeMs: number, nowMs: number): ExporterInstant {
    let state = this.#states.get(origin);
    if (state === undefined) {
      state = { waiting: new Map(), lastTimeMs: -Infinity, sizes: [] };
      this.#states.set(origin, state);
    }
    this.#waiting.add(state);
    let one = state.waiting.get(timeMs);
    if (one === undefined) {
      one = { instant: new ExporterInstant(timeMs), firstMs: nowMs, lastMs: nowMs };
      state.waiting.set(timeMs, one);
    } else one.lastMs = nowMs;
    return one.instant;
  }
}

const isComplete = (
  { instant, firstMs, lastMs }: WaitingInstant,
  { waiting, sizes }: OriginState,
  nowMs: number,
): boolean =>
  (sizes.length > 0 && instant.size >= Math.max(...sizes)) ||
  waiting.size > waitingInstants ||
  nowMs - lastMs >= quietMs ||
  nowMs - firstMs >= longestMs;
