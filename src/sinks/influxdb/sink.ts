/**
 * Sends frames to InfluxDB. `write` queues lines in memory; `flush` resolves once the server has accepted or rejected
 * them.
 */
import type { BufferedSender } from "../../base/send/buffered-sender.ts";
import type { Delivery, ShippingStats, Sink } from "../../pipeline/sink.ts";
import { memoryShipping } from "../shipping.ts";
import type { InfluxLineWriter } from "./lines.ts";
import type { InfluxWriter } from "./writer.ts";

export interface InfluxSinkParts {
  readonly name: string;
  /** The host of frames without one: this machine. */
  readonly host: string;
  readonly lines: InfluxLineWriter;
  readonly sender: BufferedSender<string>;
  readonly writer: InfluxWriter;
}

const closeWithinMs = 10_000;

export class InfluxSink implements Sink {
  readonly name: string;
  readonly takesWhileFlushing = true;
  readonly #parts: InfluxSinkParts;

  constructor(parts: InfluxSinkParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  async write(delivery: Delivery): Promise<void> {
    const { lines, sender, host } = this.#parts;
    await sender.add(lines.lines(delivery, delivery.host ?? host));
  }

  async flush(signal: AbortSignal): Promise<void> {
    await this.#parts.sender.flush(signal);
  }

  /** Counts points as samples; nothing is spooled on disk. */
  shipping(): ShippingStats {
    return memoryShipping(this.name, this.#parts.sender.stats());
  }

  async close(): Promise<void> {
    await this.#parts.sender.close(closeWithinMs);
    this.#parts.writer.close();
  }
}
