/** Collects the firing periods over the steps of a backtest. Bounded: periods beyond the limit are only counted. */
import { labelKey, type LabelSet } from "../../model/labels.ts";
import type { RuleAlert } from "../rules/types.ts";
import type { BacktestResult } from "./backtest.ts";

export interface FiringPeriod {
  readonly labels: LabelSet;
  readonly annotations: Readonly<Record<string, string>>;
  /** When the condition became true. */
  readonly activeAtMs: number;
  readonly startMs: number;
  /** Undefined if it still fires at the end of the range. */
  readonly endMs: number | undefined;
  readonly durationMs: number;
  /** The worst value while it fired. */
  readonly peak: number;
}

interface OpenFiring {
  readonly alert: RuleAlert;
  readonly labels: LabelSet;
  readonly key: string;
  startMs: number | undefined;
  peak: number;
}

export class FiringRecorder {
  readonly #fromMs: number;
  readonly #below: boolean;
  readonly #most: number;
  readonly #open = new Map<RuleAlert, OpenFiring>();
  readonly #firings: FiringPeriod[] = [];
  readonly #sets = new Set<string>();
  #count = 0;
  #pendingOnly = 0;
  #firingMs = 0;
  #longestMs = 0;

  constructor(fromMs: number, below: boolean, most: number) {
    this.#fromMs = fromMs;
    this.#below = below;
    this.#most = most;
  }

  get isQuiet(): boolean {
    return this.#open.size === 0;
  }

  /** Records the active alerts after a step. */
  look(active: readonly RuleAlert[], timeMs: number): void {
    const seen = new Set<RuleAlert>();
    for (const alert of active) {
      seen.add(alert);
      const open = this.#openOf(alert);
      if (alert.state === "firing") {
        open.startMs ??= timeMs;
        open.peak = this.#worse(open.peak, alert.value);
      }
    }
    for (const open of this.#open.values()) if (!seen.has(open.alert)) this.#close(open, timeMs);
  }

  finish(endMs: number): Pick<BacktestResult, "firings" | "totals"> {
    for (const open of this.#open.values())
      if (open.startMs !== undefined) this.#close(open, endMs, true);
    this.#firings.sort((left, right) => left.startMs - right.startMs);
    return {
      firings: this.#firings,
      totals: {
        firings: this.#count,
        labelSets: this.#sets.size,
        firingMs: this.#firingMs,
        longestMs: this.#longestMs,
        pendingOnly: this.#pendingOnly,
      },
    };
  }

  #openOf(alert: RuleAlert): OpenFiring {
    const known = this.#open.get(alert);
    if (known !== undefined) return known;
    const labels = [...alert.labels];
    const open: OpenFiring = {
      alert,
      labels,
      key: labelKey(labels),
      startMs: undefined,
      peak: Number.NaN,
    };
    this.#open.set(alert, open);
    return open;
  }

  #close(open: OpenFiring, timeMs: number, stillFires = false): void {
    this.#open.delete(open.alert);
    // Periods that end before the range are evaluated only for the state at its beginning.
    if (timeMs < this.#fromMs) return;
    if (open.startMs === undefined) {
      this.#pendingOnly++;
      return;
    }
    const durationMs = timeMs - open.startMs;
    this.#count++;
    this.#sets.add(open.key);
    this.#firingMs += durationMs;
    this.#longestMs = Math.max(this.#longestMs, durationMs);
    if (this.#firings.length >= this.#most) return;
    this.#firings.push({
      labels: open.labels,
      annotations: open.alert.annotations,
      activeAtMs: open.alert.activeAtMs,
      startMs: open.startMs,
      endMs: stillFires ? undefined : timeMs,
      durationMs,
      peak: open.peak,
    });
  }

  #worse(left: number, right: number): number {
    if (Number.isNaN(left)) return right;
    return this.#below ? Math.min(left, right) : Math.max(left, right);
  }
}
