/** Frames to InfluxDB. A write is taken into memory; flush() says when the server has answered for it. */
import type { Delivery, ShippingStats, Sink } from "../../pipeline/sink.ts";
import type { InfluxLineWriter } from "./lines.ts";
import type { InfluxLineSender } from "./sender.ts";
import type { InfluxWriter } from "./writer.ts";

export interface InfluxSinkParts {
  readonly name: string;
  /** This machine, for frames that were read on it. */
  readonly host: string;
  readonly lines: InfluxLineWriter;
  readonly sender: InfluxLineSender;
  readonly writer: InfluxWriter;
}

const closeWithinMs = 10_000;
const none = { records: 0, samples: 0 };

export class InfluxSink implements Sink {
  readonly name: string;
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

  /** Points are what others count as samples here; nothing is kept on disk. */
  shipping(): ShippingStats {
    const { sent, refused, waiting, retries, problem } = this.#parts.sender.stats;
    return {
      ship: {
        name: this.name,
        sentRecords: sent,
        sentSamples: sent,
        refusedSamples: refused,
        retries,
        lagSeconds: 0,
        ...(problem !== undefined && { problem }),
      },
      spool: {
        bytes: 0,
        diskBytes: 0,
        records: waiting,
        samples: waiting,
        dropped: { full: none, old: none, disk: none, damaged: none },
        damagedBytes: 0,
      },
    };
  }

  async close(): Promise<void> {
    await this.#parts.sender.close(closeWithinMs);
    this.#parts.writer.close();
  }
}
