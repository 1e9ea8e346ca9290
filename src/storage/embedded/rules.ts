/**
 * Retention rules by matcher and what they have removed, with their form in the manifest. `rule-retention.ts` applies
 * them.
 */
import type { Matcher } from "../../model/select.ts";
import { loadBound, storeBound, type StoredRetainedSeries } from "./files/manifest.ts";

export interface RetentionRule {
  /** The selector as configured. */
  readonly match: string;
  readonly matchers: readonly Matcher[];
  readonly retentionMs: number;
  /** At least as long as the retention of raw samples. */
  readonly rollupRetentionMs: number;
}

/** A stored rule and what it has removed. A rule that is no longer configured stays until all other data from its time is gone. */
export interface RetainedSeries {
  readonly match: string;
  readonly matchers: readonly Matcher[];
  /** Undefined if the rule is no longer configured. */
  readonly applied:
    | {
        readonly retentionMs: number;
        readonly rollupRetentionMs: number;
        /**
         * The trusted time when these durations were first configured, which starts the grace period for correcting a
         * mistake.
         */
        readonly sinceMs: number;
      }
    | undefined;
  readonly gone: GoneBounds;
}

/** The start of the remaining raw samples of a series, and of its entries in each tier. */
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
