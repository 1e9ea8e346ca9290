/** Health verdicts of a running hub on every GPU it sees, from its own frames, those of agents, and the anomaly detection. */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { Anomaly } from "../../lake/analyses/anomaly/anomaly.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { anomalyReasons } from "../../view/health/anomalies.ts";
import {
  createHealthReport,
  type HealthReport,
  type HealthSelection,
} from "../../view/health/report.ts";
import type { HealthReason } from "../../view/health/verdict.ts";
import { HealthWatch } from "../../view/health/watch.ts";

export interface HubHealthOptions {
  readonly frames: { subscribe(listener: (delivery: Delivery) => void): () => void };
  readonly anomalies: () => readonly Anomaly[];
  /** Reasons from wear of the cooling, by `deviceKey`. */
  readonly wear?: () => ReadonlyMap<string, HealthReason>;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
}

export class HubHealth {
  readonly #options: HubHealthOptions;
  readonly #watch = new HealthWatch({ acceptsVerdicts: true });
  readonly #unsubscribe: () => void;
  #isFailing = false;

  constructor(options: HubHealthOptions) {
    this.#options = options;
    this.#unsubscribe = options.frames.subscribe((delivery) => this.#take(delivery));
  }

  report(selection: HealthSelection = {}): HealthReport {
    const { nowMs, version, anomalies, wear } = this.#options;
    const timeMs = nowMs();
    const more = anomalyReasons(anomalies());
    for (const [key, reason] of wear?.() ?? []) more.set(key, [...(more.get(key) ?? []), reason]);
    const hosts = this.#watch.report(timeMs, undefined, more);
    return createHealthReport(hosts, timeMs, version, selection);
  }

  close(): void {
    this.#unsubscribe();
  }

  /** A frame whose evaluation fails is still shown and stored. */
  #take(delivery: Delivery): void {
    try {
      this.#watch.take(delivery);
    } catch (thrown) {
      if (!this.#isFailing)
        this.#options.log.warn("a frame could not be judged", { error: formatError(thrown) });
      this.#isFailing = true;
    }
  }
}
