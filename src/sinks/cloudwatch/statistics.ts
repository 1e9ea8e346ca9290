/** Aggregates readings into CloudWatch's statistic sets: minimum, maximum, sum and count of a series in a period. */
import type { MetricEntry, Unit } from "../../model/catalogue/index.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";

export interface StatisticSet {
  readonly name: string;
  readonly dimensions: LabelSet;
  readonly unit: string;
  /** The start of the period. */
  readonly timeMs: number;
  minimum: number;
  maximum: number;
  sum: number;
  count: number;
}

export interface CloudWatchPeriodOptions {
  readonly periodMs: number;
  readonly isWanted: (metric: MetricEntry) => boolean;
  /** This machine, for series without a host. */
  readonly host: string;
}

/** Our units that CloudWatch has a name for. */
const units: Readonly<Partial<Record<Unit, string>>> = {
  bytes: "Bytes",
  seconds: "Seconds",
  bytes_per_second: "Bytes/Second",
};
const mostDimensions = 30;
const mostValueChars = 1_024;
/** CloudWatch rejects larger values, NaN and infinity. */
const largest = 2 ** 360;

interface Slot {
  readonly slot: number;
  readonly key: string;
  readonly name: string;
  readonly dimensions: LabelSet;
  readonly unit: string;
}

export class Statistics {
  readonly #options: CloudWatchPeriodOptions;
  readonly #plans = new WeakMap<
    Layout,
    { readonly host: string; readonly slots: readonly Slot[] }
  >();
  #sets = new Map<string, StatisticSet>();

  constructor(options: CloudWatchPeriodOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sets.size;
  }

  add({ frame, host = this.#options.host }: Delivery): void {
    const { periodMs } = this.#options;
    const timeMs = Math.floor(frame.timeMs / periodMs) * periodMs;
    for (const { slot, key, name, dimensions, unit } of this.#slotsOf(frame.layout, host)) {
      const value = frame.values[slot] ?? Number.NaN;
      if (frame.presence[slot] !== presence.present || !(Math.abs(value) <= largest)) continue;
      const id = `${timeMs} ${key}`;
      const set = this.#sets.get(id);
      if (set === undefined)
        this.#sets.set(id, {
          name,
          dimensions,
          unit,
          timeMs,
          minimum: value,
          maximum: value,
          sum: value,
          count: 1,
        });
      else {
        set.minimum = Math.min(set.minimum, value);
        set.maximum = Math.max(set.maximum, value);
        set.sum += value;
        set.count++;
      }
    }
  }

  /** Returns all statistic sets so far and starts new ones; CloudWatch adds up sets of the same period. */
  drain(): readonly StatisticSet[] {
    const sets = [...this.#sets.values()];
    this.#sets = new Map();
    return sets;
  }

  #slotsOf(layout: Layout, host: string): readonly Slot[] {
    const known = this.#plans.get(layout);
    if (known?.host === host) return known.slots;
    const slots = layout.series.flatMap(({ metric, suffix, labels }, slot): Slot[] => {
      if (!this.#options.isWanted(metric) || metric.kind === "info") return [];
      const name = metric.name + suffix;
      const dimensions = dimensionsOf(labels, host);
      const key = JSON.stringify([name, dimensions]);
      return [{ slot, key, name, dimensions, unit: units[metric.unit] ?? "None" }];
    });
    this.#plans.set(layout, { host, slots });
    return slots;
  }
}

/** CloudWatch accepts only values of printable ASCII that are not empty and do not begin with a colon. */
function dimensionsOf(labels: LabelSet, host: string): LabelSet {
  const all = labels.some(([name]) => name === "host")
    ? labels
    : [...labels, ["host", host] as const];
  return all
    .map(
      ([name, value]) =>
        [name, value.replace(/[^\x20-\x7E]/g, "?").slice(0, mostValueChars)] as const,
    )
    .filter(([, value]) => value.trim() !== "")
    .slice(0, mostDimensions);
}
