/** The newest frame of every source and tier, for whoever asks what is true now. A frame past its freshness is never given out. */
import type { Delivery, Sink } from "../../pipeline/sink.ts";

export type Listener = (delivery: Delivery) => void;

export class LatestFrames implements Sink {
  readonly name = "latest";
  readonly #newest = new Map<string, Delivery>();
  readonly #listeners = new Set<Listener>();

  write(delivery: Delivery): void {
    const key = `${delivery.source}\u0000${delivery.tier}`;
    const before = this.#newest.get(key);
    if (before !== undefined && before.frame.timeMs > delivery.frame.timeMs) return;
    this.#newest.set(key, delivery);
    for (const listener of this.#listeners) listener(delivery);
  }

  /** What is fresh at the instant, in the order sources were first heard. */
  at(nowMs: number): readonly Delivery[] {
    return [...this.#newest.values()].filter(
      (delivery) => nowMs - delivery.frame.timeMs <= delivery.freshForMs,
    );
  }

  /** Calls the listener with every frame from now on; the returned function ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#listeners.clear();
    this.#newest.clear();
  }
}
