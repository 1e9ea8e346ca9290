/**
 * Finds GPUs whose cooling has worn: hotter at the same load than a week ago, more than the other GPUs of their machine. The rule
 * GpuCoolingWears has the same condition.
 */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { QueryResult } from "../../query/result.ts";
import type { HealthReason } from "../../view/health/verdict.ts";

const atLoad = `avg_over_time(${gpu.temperatureAtLoad.name}[6h])`;
const weekBefore = `avg_over_time(${gpu.temperatureAtLoad.name}[6h] offset 1w)`;
/** Degrees gained in a week, minus the median of the machine. */
const gained = `(${atLoad} - ${weekBefore}) - on (host) group_left () quantile by (host) (0.5, ${atLoad} - ${weekBefore})`;
const limitCelsius = 4;
/** As in the rule. */
export const wearCondition = `${gained} > ${limitCelsius}`;
/** The condition has to hold now and this long ago: the rule has the same time in `for`. */
const heldMs = 6 * 3_600_000;
/** The condition changes over days, and each query reads twelve hours of every GPU. */
const everyMs = 30 * 60_000;
/** After a start, others need the history first. */
const firstMs = 60_000;

export interface ThermalWearOptions {
  readonly history: { instant(query: string, timeMs: number): Promise<QueryResult> };
  readonly log: Log;
  readonly nowMs: () => number;
}

export class ThermalWear {
  readonly #options: ThermalWearOptions;
  #reasons: ReadonlyMap<string, HealthReason> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isFailing = false;

  constructor(options: ThermalWearOptions) {
    this.#options = options;
    this.#schedule(firstMs);
  }

  /** By `deviceKey`. */
  reasons(): ReadonlyMap<string, HealthReason> {
    return this.#reasons;
  }

  async refresh(): Promise<void> {
    const { history, log, nowMs } = this.#options;
    const timeMs = nowMs();
    try {
      const now = gainsOf(await history.instant(wearCondition, timeMs));
      // Most fleets have none, and need no second query.
      const before =
        now.size === 0 ? now : gainsOf(await history.instant(wearCondition, timeMs - heldMs));
      this.#reasons = new Map(
        [...now]
          .filter(([key]) => before.has(key))
          .map(([key, celsius]) => {
            const sinceMs = this.#reasons.get(key)?.sinceMs ?? timeMs - heldMs;
            return [key, wearReason(celsius, sinceMs)];
          }),
      );
      this.#isFailing = false;
    } catch (thrown) {
      if (!this.#isFailing)
        log.warn("wear of the cooling could not be judged", { error: formatError(thrown) });
      this.#isFailing = true;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(afterMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      void this.refresh().then(() => this.#schedule(everyMs));
    }, afterMs);
    this.#timer.unref();
  }
}

/** Degrees gained, by `deviceKey`. */
function gainsOf({ data }: QueryResult): ReadonlyMap<string, number> {
  const samples = data.type === "vector" ? data.samples : [];
  return new Map(
    samples.flatMap(({ labels, value }) => {
      const host = labelValue(labels, "host");
      const uuid = labelValue(labels, "uuid");
      return host === undefined || uuid === undefined ? [] : [[deviceKey(host, uuid), value]];
    }),
  );
}

function wearReason(celsius: number, sinceMs: number): HealthReason {
  return {
    check: "cooling",
    reason: "cooling_wears",
    title: "hotter at the same load than a week ago",
    state: "degraded",
    action: "inspect",
    text: `At 70 % of its power limit it is ${celsius.toFixed(1)} °C hotter than a week ago, minus the median change of the GPUs in its machine; the limit is ${limitCelsius} °C. Clean the heatsink and filters; if that does not help, replace the thermal paste or the fan.`,
    sinceMs,
  };
}
