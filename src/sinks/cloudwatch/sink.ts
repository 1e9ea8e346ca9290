/**
 * Sends frames to CloudWatch. Readings are aggregated in memory; `flush` resolves once CloudWatch has accepted or
 * rejected them.
 */
import type { Clock } from "../../base/clock.ts";
import type { BufferedSender } from "../../base/send/buffered-sender.ts";
import type { Delivery, ShippingStats, Sink } from "../../pipeline/sink.ts";
import { memoryShipping } from "../shipping.ts";
import type { StatisticSet, Statistics } from "./statistics.ts";
import type { CloudWatchWriter } from "./writer.ts";

export interface CloudWatchSinkParts {
  readonly name: string;
  readonly periodMs: number;
  readonly statistics: Statistics;
  readonly sender: BufferedSender<StatisticSet>;
  readonly writer: Pick<CloudWatchWriter, "close">;
  readonly clock: Clock;
}

const closeWithinMs = 10_000;
/** Limit for statistic sets in memory: a replay passes through many periods in a moment. */
const mostSets = 20_000;

export class CloudWatchSink implements Sink {
  readonly name: string;
  readonly takesWhileFlushing = true;
  /** One period, because each part of a period that is sent separately costs a request. */
  readonly rollMs: number;
  readonly #parts: CloudWatchSinkParts;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: CloudWatchSinkParts) {
    this.name = parts.name;
    this.rollMs = parts.periodMs;
    this.#parts = parts;
  }

  async write(delivery: Delivery): Promise<void> {
    const { statistics, periodMs, clock } = this.#parts;
    statistics.add(delivery);
    this.#cancelTimer ??= clock.after(periodMs, () => {
      // A sender that has failed also rejects the next write and flush.
      this.#send().catch(() => undefined);
    });
    if (statistics.size >= mostSets) await this.#send();
  }

  async flush(signal: AbortSignal): Promise<void> {
    const room = this.#send();
    await this.#parts.sender.flush(signal);
    await room;
  }

  /** Counts statistic sets as samples; nothing is spooled on disk. */
  shipping(): ShippingStats {
    return memoryShipping(this.name, this.#parts.sender.stats());
  }

  async close(): Promise<void> {
    void this.#send().catch(() => undefined);
    await this.#parts.sender.close(closeWithinMs);
    this.#parts.writer.close();
  }

  /** Queues all statistic sets at once; resolves when there is room for more. */
  async #send(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    await this.#parts.sender.add(this.#parts.statistics.drain());
  }
}
