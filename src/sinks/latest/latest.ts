/** The newest frame of every source and tier. A frame past its freshness is never returned. */
import type { Layout } from "../../model/layout.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";

export type Listener = (delivery: Delivery) => void;

export class LatestFrames implements Sink {
  readonly name = "latest";
  /** A polled source is keyed by tier. A stream mixes its tiers, and each has its own layout: keyed by that. */
  readonly #newest = new Map<string | Layout, Delivery>();
  readonly #listeners = new Set<Listener>();

  write(delivery: Delivery): void {
    const { source, tier, frame } = delivery;
    const streams = tier === "stream";
    const key = streams ? frame.layout : `${source}\u0000${tier}`;
    const before = this.#newest.get(key);
    if (before !== undefined && before.frame.timeMs > frame.timeMs) return;
    this.#newest.set(key, delivery);
    if (streams && before === undefined) this.#forget(source, frame.timeMs);
    for (const listener of this.#listeners) listener(delivery);
  }

  /** What is fresh at the instant, in the order sources were first seen. */
  at(nowMs: number): readonly Delivery[] {
    return [...this.#newest.values()].filter((delivery) => isFresh(delivery, nowMs));
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

  /** Bounds a stream whose layouts keep changing. */
  #forget(source: string, nowMs: number): void {
    for (const [key, delivery] of this.#newest) {
      if (delivery.source === source && !isFresh(delivery, nowMs)) this.#newest.delete(key);
    }
  }
}

const isFresh = (delivery: Delivery, nowMs: number): boolean =>
  nowMs - delivery.frame.timeMs <= delivery.freshForMs;
