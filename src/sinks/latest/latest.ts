/** The newest frame of every source and tier. An expired frame is never returned. */
import type { Layout } from "../../model/layout.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";

export type Listener = (delivery: Delivery) => void;

export class LatestFrames implements Sink {
  readonly name = "latest";
  /**
   * Frames of a polled source are keyed by tier. A stream mixes its tiers, each with its own layout, so its key is the
   * layout.
   */
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

  /** Returns the frames that are fresh at this time, in the order their sources were first seen. */
  at(nowMs: number): readonly Delivery[] {
    return [...this.#newest.values()].filter((delivery) => isFresh(delivery, nowMs));
  }

  /** Calls the listener with every new frame; the returned function unsubscribes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#listeners.clear();
    this.#newest.clear();
  }

  /** Removes expired frames of a source, which limits a stream whose layouts keep changing. */
  #forget(source: string, nowMs: number): void {
    for (const [key, delivery] of this.#newest) {
      if (delivery.source === source && !isFresh(delivery, nowMs)) this.#newest.delete(key);
    }
  }
}

const isFresh = (delivery: Delivery, nowMs: number): boolean =>
  nowMs - delivery.frame.timeMs <= delivery.freshForMs;
