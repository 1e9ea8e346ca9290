/**
 * GPU series received by remote write, OTLP, JSON or Influx line protocol, as frames: assembled from the requests of all
 * senders and stored in addition to the original series. A request without GPU series costs one lookup per metric name.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { type AssemblyLimits, FrameAssembly } from "../../formats/exporters/assembly.ts";
import { self } from "../../model/catalogue/index.ts";
import type { PutMetric } from "../../model/self-frames.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { ExporterGpus } from "./exporters.ts";

export interface PushedGpusOptions {
  readonly gpus: ExporterGpus;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly limits?: Partial<AssemblyLimits> | undefined;
}

const tickMs = 500;
/** Yields to the event loop after this long. */
const turnMs = 10;

export class PushedGpus {
  readonly #options: PushedGpusOptions;
  readonly #assembly: FrameAssembly;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: PushedGpusOptions) {
    this.#options = options;
    this.#assembly = new FrameAssembly(options.limits);
  }

  selfMetrics(put: PutMetric): void {
    put(self.exporterIgnored, this.#assembly.ignored, { path: "push" });
  }

  /** Call with samples that are stored. */
  take(batch: SampleBatch): void {
    this.#assembly.add(batch, this.#options.nowMs());
    if (!this.#assembly.isEmpty) this.#timer ??= setInterval(() => this.flush(), tickMs).unref();
  }

  /** Writes the complete frames; one write at a time. */
  flush(isLast = false): void {
    if (this.#assembly.isEmpty) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#writing ??= this.#write(isLast).finally(() => (this.#writing = undefined));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    this.flush(true);
    await this.#writing;
    clearInterval(this.#timer);
  }

  async #write(isLast: boolean): Promise<void> {
    const { gpus, log, nowMs } = this.#options;
    let startMs = performance.now();
    for (const { frames, isLate } of this.#assembly.ready(nowMs(), isLast)) {
      for (const found of frames)
        try {
          await gpus.write(found, { isShown: !isLate, isPart: true });
          this.#isFailing = false;
        } catch (thrown) {
          if (!this.#isFailing)
            log.error("storing GPU series under gpulse's names failed: they are lost", {
              error: formatError(thrown),
            });
          this.#isFailing = true;
        }
      if (performance.now() - startMs > turnMs) {
        await nextTurn();
        startMs = performance.now();
      }
    }
  }
}
