/** The lake as a sink. `write` buffers in memory; `flush` resolves when the data is in files. */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { Lake } from "../../lake/lake.ts";
import type { Log } from "../../base/log.ts";
import type { Delivery, Sink, SinkContext } from "../../pipeline/sink.ts";

/** How long closing may wait for an unavailable storage location. */
const closeWithinMs = 30_000;

export class LakeSink implements Sink {
  readonly name: string;
  readonly takesWhileFlushing = true;
  readonly lake: Lake;
  readonly rollMs: number;
  readonly #host: string;
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isFlushing = false;
  #isDropping = false;

  constructor(
    name: string,
    lake: Lake,
    rollMs: number,
    context: Pick<SinkContext, "hostName" | "log">,
  ) {
    this.name = name;
    this.rollMs = rollMs;
    this.lake = lake;
    this.#host = context.hostName;
    this.#log = context.log;
    // Flushes on a timer: an agent that polls GPUs has no checkpoints.
    this.#timer = setInterval(() => void this.#flushNow(), rollMs).unref();
  }

  write({ frame, devices, host, tags, origin }: Delivery): Promise<void> {
    return this.lake.take(
      { frame, devices, host: host ?? this.#host, tags },
      origin,
      this.#stop.signal,
    );
  }

  flush(signal: AbortSignal): Promise<void> {
    this.#timer.refresh();
    return this.lake.flush(AbortSignal.any([signal, this.#stop.signal]));
  }

  samples(batch: SampleBatch): void {
    this.lake.putSamples(batch);
    this.#bound();
  }

  relay({ frame, devices, host, tags }: Delivery): void {
    this.lake.put({ frame, devices, host: host ?? this.#host, tags });
    this.#bound();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await this.lake.close(AbortSignal.timeout(closeWithinMs));
    } finally {
      this.#stop.abort();
    }
  }

  /**
   * Limits the memory of a hub's forwarded data, whose writers cannot wait: flushes early, and drops the oldest rows if
   * the lake cannot be written.
   */
  #bound(): void {
    if (this.lake.heldBytes < 256 * 2 ** 20) return;
    void this.#flushNow();
    if (this.lake.heldBytes < 512 * 2 ** 20) return;
    const rows = this.lake.dropOldest();
    if (rows > 0 && !this.#isDropping)
      this.#log.error("the lake cannot be written, its oldest rows are lost", { rows });
    this.#isDropping = rows > 0;
  }

  async #flushNow(): Promise<void> {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    try {
      await this.lake.flush(this.#stop.signal);
      this.#isDropping = false;
    } catch (thrown) {
      if (!this.#stop.signal.aborted)
        this.#log.error("the lake cannot be written", {
          error: thrown instanceof Error ? thrown.message : String(thrown),
        });
    } finally {
      this.#isFlushing = false;
    }
  }
}
