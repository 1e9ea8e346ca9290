/** Retention rules by matcher, what they have removed, and both in the manifest. `rule-retention.ts` carries them out. */
import type { Matcher } from "../../model/select.ts";
import { loadBound, storeBound, type StoredRetainedSeries } from "./files/manifest.ts";

export interface RetentionRule {
  /** The selector as it was written. */
  readonly match: string;
  readonly matchers: readonly Matcher[];
  readonly retentionMs: number;
  /** At least as long as that of raw samples. */
  readonly rollupRetentionMs: number;
}

/** A rule that the store knows, and what it has removed. One that is no longer configured stays until all else of its time is gone. */
export interface RetainedSeries {
  readonly match: string;
  readonly matchers: readonly Matcher[];
  /** Undefined where it is no longer configured. */
  readonly applied:
    | {
        readonly retentionMs: number;
        readonly rollupRetentionMs: number;
        /** The trusted time when these durations were first configured: a mistake can be corrected for a while. */
        readonly sinceMs: number;
      }
    | undefined;
  readonly gone: GoneBounds;
}

/** From when on a series has raw samples, and entries of each tier. */
export interface GoneBounds {
  readonly rawMs: number;
  readonly tiersMs: readonly number[];
}

export const storeRules = (rules: readonly RetainedSeries[]): readonly StoredRetainedSeries[] =>
  rules.map(({ match, matchers, applied, gone }) => ({
    match,
    matchers,
    applied: applied ?? null,
    goneBeforeMs: storeBound(gone.rawMs),
    tiersGoneBeforeMs: gone.tiersMs.map(storeBound),
  }));

export const loadRules = (
  stored: readonly StoredRetainedSeries[] | undefined,
): readonly RetainedSeries[] =>
  (stored ?? []).map(({ match, matchers, applied, goneBeforeMs, tiersGoneBeforeMs }) => ({
    match,
    matchers,
    applied: applied ?? undefined,
    gone: { rawMs: loadBound(goneBeforeMs), tiersMs: tiersGoneBeforeMs.map(loadBound) },
  }));
