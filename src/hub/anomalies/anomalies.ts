/**
 * Anomaly detection of a running hub: consumes every frame of the live view, local and from agents, and writes its results into
 * the history and onto the timeline. After a start it first replays the last hours of the history, so that its baselines are
 * valid at once. Failures here never affect the frames.
 */
import {
  type Anomaly,
  type AnomalyChange,
  type AnomalyKind,
  kindFacts,
} from "../../lake/analyses/anomaly/anomaly.ts";
import { replayFrames } from "../../lake/analyses/anomaly/replay.ts";
import { AnomalySeries } from "../../lake/analyses/anomaly/series.ts";
import { AnomalyWatch } from "../../lake/analyses/anomaly/watch.ts";
import { formatError } from "../../base/error.ts";
import type { EventSink } from "../events/event.ts";
import type { Queryable } from "../../model/select.ts";
import type { SampleWriter } from "../../storage/history.ts";
import type { Log } from "../../base/log.ts";
import type { Frame } from "../../model/frame.ts";
import { identityOf } from "../../model/identity.ts";
import type { Delivery } from "../../pipeline/sink.ts";

export interface AnomaliesOptions {
  readonly frames: { subscribe(listener: (delivery: Delivery) => void): () => void };
  readonly history: Queryable;
  readonly writer: Pick<SampleWriter, "writeFrame">;
  readonly events?: EventSink;
  /** Called when an anomaly begins. */
  readonly onBegin?: ((gpu: Pick<Anomaly["device"], "host" | "uuid">) => void) | undefined;
  readonly log: Log;
  readonly nowMs: () => number;
}

const writeEveryMs = 15_000;
/** Thermal baselines forget within six hours; half of that covers most of their weight. */
const replayMs = 3 * 3_600_000;
/** Limits the replay of a large fleet, so that a start takes seconds: GPUs times seconds. */
const mostGpuSeconds = 4_000_000;
const replayEveryMs = 5_000;
/** Frames of a replay handled before yielding to the event loop. */
const replayTurn = 200;

export class Anomalies {
  readonly watch = new AnomalyWatch();
  readonly #options: AnomaliesOptions;
  readonly #series = new AnomalySeries();
  readonly #page = new AnomalySeries();
  readonly #closing = new AbortController();
  readonly #ready: Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe = (): void => {};
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(options: AnomaliesOptions) {
    this.#options = options;
    this.#ready = this.#start();
  }

  /** Resolves when the history has been read and live frames are watched. */
  ready(): Promise<void> {
    return this.#ready;
  }

  active(): readonly Anomaly[] {
    return this.watch.active();
  }

  activeKindsOf(key: string): readonly AnomalyKind[] {
    return this.watch.activeKindsOf(key);
  }

  /** The current results, for the /metrics page. */
  frame(): Frame {
    return this.#page.whole(this.#options.nowMs(), this.watch);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#ready;
    this.#unsubscribe();
    clearInterval(this.#timer);
    await this.#writing;
  }

  async #start(): Promise<void> {
    const { frames, log } = this.#options;
    await this.#remember().catch((thrown: unknown) => {
      if (!this.#closing.signal.aborted)
        log.warn("anomaly baselines not restored: learning starts over", {
          error: formatError(thrown),
        });
    });
    if (this.#closing.signal.aborted) return;
    this.watch.subscribe((change) => this.#report(change));
    this.#unsubscribe = frames.subscribe((delivery) => this.#take(delivery));
    this.#timer = setInterval(() => this.#write(), writeEveryMs).unref();
  }

  async #remember(): Promise<void> {
    const { history, nowMs } = this.#options;
    const toMs = nowMs();
    const { signal } = this.#closing;
    const power = [{ name: "__name__", op: "=", value: "gpu_power_watts" }] as const;
    const gpus = await history.series([power], toMs - 600_000, toMs);
    const spanMs = Math.min(replayMs, (mostGpuSeconds / Math.max(1, gpus.length)) * 1_000);
    let taken = 0;
    const options = { fromMs: toMs - spanMs, toMs, everyMs: replayEveryMs, signal };
    for await (const frame of replayFrames(history, options)) {
      this.watch.take({ frame });
      if (++taken % replayTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #take(delivery: Delivery): void {
    try {
      this.watch.take(delivery);
    } catch (thrown) {
      this.#complain("a frame could not be looked at for anomalies", thrown);
    }
  }

  #report({ change, anomaly }: AnomalyChange): void {
    const { kind, severity, device, says, sinceMs, toldMs, endedMs } = anomaly;
    const { uuid, gpu, host } = device;
    this.#options.log.info(`anomaly ${change}`, { kind, host, gpu, uuid, says });
    this.#write();
    if (change === "began") this.#options.onBegin?.(device);
    try {
      this.#options.events?.add({
        timeMs: change === "began" ? toldMs : (endedMs ?? toldMs),
        kind: "anomaly",
        state: change,
        severity: change === "began" ? severity : "info",
        title: `GPU ${gpu} on ${host}: ${kindFacts[kind].title}${change === "ended" ? ", over" : ""}`,
        text: `${says} Since ${new Date(sinceMs).toISOString()}. Look at ${anomaly.series.join(", ")}.`,
        labels: { kind, uuid, gpu, host, model: device.model },
      });
    } catch (thrown) {
      this.#complain("an anomaly could not be put onto the timeline", thrown);
    }
  }

  /** Serializes writes: a change is in the history before the next rule evaluation. */
  #write(): void {
    this.#writing = this.#writing.then(() => this.#keep());
  }

  async #keep(): Promise<void> {
    const { writer, nowMs } = this.#options;
    try {
      for (const { host, frame } of this.#series.byHost(nowMs(), this.watch))
        await writer.writeFrame(
          { frame, source: `anomalies/${host}`, tier: "anomalies" },
          identityOf(host),
        );
      this.#isFailing = false;
    } catch (thrown) {
      this.#complain("anomalies were not stored", thrown);
    }
  }

  #complain(what: string, thrown: unknown): void {
    if (!this.#isFailing) this.#options.log.warn(what, { error: formatError(thrown) });
    this.#isFailing = true;
  }
}
