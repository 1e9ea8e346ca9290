/**
 * A bounded queue in front of one sink, with one write at a time. When it is full, polled sources drop and count the
 * oldest frame; streams wait.
 */
import { formatError } from "../base/error.ts";
import { limitDebug, type Log } from "../base/log.ts";
import type { Delivery, Sink } from "./sink.ts";

export interface OutletCounts {
  frames: number;
  dropped: number;
  failures: number;
}

export class Outlet {
  readonly name: string;
  readonly counts: OutletCounts = { frames: 0, dropped: 0, failures: 0 };
  readonly #sink: Sink;
  readonly #capacity: number;
  readonly #log: Log;
  readonly #queue: Delivery[] = [];
  readonly #waiting: (() => void)[] = [];
  #writing = false;
  #failing = false;

  constructor(sink: Sink, capacity: number, log: Log) {
    this.name = sink.name;
    this.#sink = sink;
    this.#capacity = capacity;
    this.#log = limitDebug(log, () => performance.now());
  }

  push(delivery: Delivery): void {
    if (this.#queue.length >= this.#capacity) {
      this.#queue.shift();
      this.counts.dropped++;
    }
    this.#queue.push(delivery);
    void this.#drain();
  }

  /** Resolves when the delivery is queued. */
  async offer(delivery: Delivery): Promise<void> {
    while (this.#queue.length >= this.#capacity) await this.#nextWrite();
    this.#queue.push(delivery);
    void this.#drain();
  }

  /** Resolves when everything queued so far is written. */
  async flush(): Promise<void> {
    while (this.#writing || this.#queue.length > 0) await this.#nextWrite();
  }

  async close(): Promise<void> {
    await this.#sink.close();
  }

  #nextWrite(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #logWrite({ source, tier, frame }: Delivery, startMs: number, error?: string): void {
    this.#log.debug("sink write", {
      sink: this.name,
      source,
      tier,
      series: frame.layout.series.length,
      tookMs: Math.round((performance.now() - startMs) * 100) / 100,
      queued: this.#queue.length,
      error,
    });
  }

  async #drain(): Promise<void> {
    if (this.#writing) return;
    this.#writing = true;
    for (
      let delivery = this.#queue.shift();
      delivery !== undefined;
      delivery = this.#queue.shift()
    ) {
      const startMs = this.#log.isDebug === true ? performance.now() : 0;
      try {
        const written = this.#sink.write(delivery);
        if (written instanceof Promise) await written;
        this.counts.frames++;
        if (this.#log.isDebug === true) this.#logWrite(delivery, startMs);
        if (this.#failing) this.#log.info("sink recovered", { sink: this.name });
        this.#failing = false;
      } catch (thrown) {
        this.counts.failures++;
        if (this.#log.isDebug === true) this.#logWrite(delivery, startMs, formatError(thrown));
        if (!this.#failing)
          this.#log.error("sink write failed", {
            sink: this.name,
            error: formatError(thrown),
          });
        this.#failing = true;
      }
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
    this.#writing = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
