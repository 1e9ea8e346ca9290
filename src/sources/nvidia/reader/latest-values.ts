/** The newest value of every series of one tier, with its presence and read time. A value that is no longer read becomes stale. */
import { presence } from "../../../model/presence.ts";
import { type GpuMetric, SENTINEL_MARK, type SeriesSpec } from "../protocol.ts";

export class LatestValues {
  readonly series: SeriesSpec[] = [];
  readonly #freshForMs: number;
  #values = new Float64Array(0);
  #presence = new Uint8Array(0);
  #readAtMs = new Float64Array(0);

  constructor(freshForMs: number) {
    this.#freshForMs = freshForMs;
  }

  add(metric: GpuMetric, device: number, labels?: Readonly<Record<string, string>>): number {
    this.series.push(labels === undefined ? { metric, device } : { metric, device, labels });
    return this.series.length - 1;
  }

  /** Must be called once, after all series have been added. */
  seal(): void {
    const { length } = this.series;
    this.#values = new Float64Array(length);
    this.#presence = new Uint8Array(length).fill(presence.pending);
    this.#readAtMs = new Float64Array(length).fill(Number.NEGATIVE_INFINITY);
  }

  set(slot: number, value: number, nowMs: number): void {
    this.#values[slot] = value;
    this.#presence[slot] = presence.present;
    this.#readAtMs[slot] = nowMs;
  }

  absent(slot: number, why: number, nowMs: number): void {
    this.#values[slot] = 0;
    this.#presence[slot] = why;
    this.#readAtMs[slot] = nowMs;
  }

  /** Records that the driver returned its sentinel: the reading is absent, and marked so that it can be logged. */
  reject(slot: number, nowMs: number): void {
    this.absent(slot, presence.failed, nowMs);
    this.#values[slot] = SENTINEL_MARK;
  }

  value(slot: number): number | undefined {
    return this.#presence[slot] === presence.present ? this.#values[slot] : undefined;
  }

  /** Marks every reading of a lost or sleeping device absent. */
  lose(device: number, why: number): void {
    this.series.forEach((spec, slot) => {
      if (spec.device !== device) return;
      this.#values[slot] = 0;
      this.#presence[slot] = why;
    });
  }

  /** Returns copies for the response; a reading older than the bound becomes `failed` instead of being repeated. */
  snapshot(nowMs: number): { values: Float64Array; presence: Uint8Array } {
    const states = this.#presence.slice();
    const oldestMs = nowMs - this.#freshForMs;
    for (let slot = 0; slot < states.length; slot++) {
      const isOld = (this.#readAtMs[slot] ?? 0) < oldestMs;
      if (isOld && states[slot] === presence.present) states[slot] = presence.failed;
    }
    return { values: this.#values.slice(), presence: states };
  }
}

export interface TierValues {
  readonly fast: LatestValues;
  readonly slow: LatestValues;
  readonly static: LatestValues;
}
