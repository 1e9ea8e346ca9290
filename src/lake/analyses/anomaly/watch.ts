/**
 * Watches every GPU of a stream of frames, live or replayed. The result depends on the frames alone: no clock, no randomness, no
 * I/O.
 */
import type { Delivery } from "../../../pipeline/sink.ts";
import type { Anomaly, AnomalyChange, AnomalyKind, AnomalyListener } from "./anomaly.ts";
import { AnomalyDeviceWatch } from "./device.ts";
import { Peers } from "./peers.ts";
import { AnomalyLayoutPlans } from "./readings.ts";

/** Without a reading for this long an anomaly is ended; after a day the GPU is forgotten. */
const claimMs = 10 * 60_000;
const forgetMs = 24 * 3_600_000;
const sweepMs = 60_000;

const noKinds: readonly AnomalyKind[] = [];

export class AnomalyWatch {
  readonly #devices = new Map<string, AnomalyDeviceWatch>();
  readonly #plans = new AnomalyLayoutPlans();
  readonly #peers = new Peers();
  readonly #listeners = new Set<AnomalyListener>();
  readonly #report = (change: AnomalyChange): void => {
    for (const listener of this.#listeners) listener(change);
  };
  #sweptMs = Number.NEGATIVE_INFINITY;

  /** Calls the listener for every anomaly that begins or ends from now on; the returned function unsubscribes. */
  subscribe(listener: AnomalyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get devices(): Iterable<AnomalyDeviceWatch> {
    return this.#devices.values();
  }

  /** Active anomalies, by GPU. */
  active(): readonly Anomaly[] {
    return [...this.#devices.values()].flatMap((device) => device.active());
  }

  /** @param key the GPU's `deviceKey` */
  activeKindsOf(key: string): readonly AnomalyKind[] {
    return this.#devices.get(key)?.activeKinds() ?? noKinds;
  }

  take({ frame }: Pick<Delivery, "frame">): void {
    const { timeMs } = frame;
    for (const plan of this.#plans.of(frame.layout)) {
      let device = this.#devices.get(plan.key);
      if (device === undefined) {
        // A GPU is watched from its first power reading on: GPU partitions and lost GPUs have none.
        if (plan.slots.length === 0) continue;
        this.#devices.set(plan.key, (device = new AnomalyDeviceWatch(plan, this.#peers)));
      }
      device.readings.take(frame, plan);
      device.heardMs = timeMs;
      if (plan.beats && device.readings.get("powerWatts") !== undefined)
        device.beat(timeMs, this.#report);
    }
    if (timeMs - this.#sweptMs >= sweepMs) this.#sweep(timeMs);
  }

  #sweep(timeMs: number): void {
    this.#sweptMs = timeMs;
    for (const [key, device] of this.#devices) {
      if (timeMs - device.lastMs > claimMs) device.end(timeMs, this.#report);
      if (timeMs - device.heardMs > forgetMs) {
        this.#devices.delete(key);
        this.#peers.leave(key);
      }
    }
  }
}
