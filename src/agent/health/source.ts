/**
 * Health verdicts of this machine's GPUs as a source: follows the frames of the other sources, the kernel log and EDAC, and emits
 * the verdict with the slow tier. A verdict reports if the log could not be read.
 */
import { silentLog } from "../../base/log.ts";
import { readMemoryControllers } from "../../machine/edac.ts";
import { classify, type GpuLine } from "../../machine/kernel-log/classify.ts";
import {
  checkAccess,
  defaultKmsg,
  KernelLogReader,
  systemNow,
} from "../../machine/kernel-log/reader.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { host } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { KernelLine } from "../../sinks/kernel-log/line.ts";
import type { PolledSource } from "../../sources/source.ts";
import type { DriverLogAccess } from "../../view/health/judge.ts";
import { type ListedReading, ReadingFrames } from "../../model/reading-frames.ts";
import { healthReadings } from "../../view/health/series.ts";
import { HealthWatch, type HostHealth } from "../../view/health/watch.ts";
import { applyKernelLine } from "./kernel-events.ts";

export interface HealthSourceOptions {
  readonly hostName: string;
  readonly sysfs: string;
  /** `/dev/kmsg` by default. */
  readonly kmsg?: string;
  /** Called for each kernel line about a GPU that was written after this source was created. */
  readonly onLine?: (line: KernelLine) => void;
  /** For a single evaluation: a condition counts after it has held this long, and the log is read once. */
  readonly settleMs?: number;
}

/** Limit of lines about GPUs that no frame has identified yet. */
const mostPending = 1_000;
const pollMs = 2_000;

export class HealthSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers = ["slow"] as const;
  readonly #options: HealthSourceOptions;
  readonly #watch: HealthWatch;
  readonly #frames = new ReadingFrames();
  readonly #closing = new AbortController();
  readonly #startMs = systemNow().wallMs;
  #pending: { readonly line: GpuLine; readonly timeMs: number }[] = [];
  #driverLog: DriverLogAccess | undefined;
  #following: Promise<void> | undefined;

  constructor(options: HealthSourceOptions) {
    this.#options = options;
    const { settleMs } = options;
    this.#watch = new HealthWatch({
      acceptsVerdicts: false,
      ...(settleMs === undefined ? {} : { settleMs }),
    });
  }

  devices(): readonly [] {
    return [];
  }

  /** Watches the frames of this machine; frames of other machines are evaluated by the hub. */
  take(delivery: Delivery): void {
    if (delivery.host === undefined) this.#watch.take(delivery);
  }

  report(nowMs: number): readonly HostHealth[] {
    this.#applyPending();
    return this.#watch.report(nowMs, this.#driverLog);
  }

  async read(_tier: string, timeMs: number): Promise<Frame> {
    this.#followLog();
    return this.#frames.frame(timeMs, [
      ...healthReadings(this.report(timeMs)),
      ...(await this.#memorySamples()),
    ]);
  }

  /** Reads the current content of the kernel log, for a single evaluation. */
  async readLog(): Promise<void> {
    const once = new AbortController();
    const reading = this.#openLog(once.signal);
    once.abort();
    await reading;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
  }

  #followLog(): void {
    if (this.#options.settleMs === undefined)
      this.#following ??= this.#openLog(this.#closing.signal);
  }

  #openLog(signal: AbortSignal): Promise<void> {
    const { kmsg = defaultKmsg } = this.#options;
    const access = checkAccess(kmsg);
    this.#driverLog =
      access.state === "found" ? { ok: true } : { ok: false, why: `kernel log: ${access.says}` };
    if (access.state !== "found") return Promise.resolve();
    const reader = new KernelLogReader({
      path: kmsg,
      sinceBoot: true,
      log: silentLog,
      now: systemNow,
      pollMs,
      onRecord: (record, timeNs) => {
        const line = classify(record);
        if (line === undefined) return;
        const timeMs = Number(timeNs / 1_000_000n);
        if (timeMs >= this.#startMs)
          this.#options.onLine?.({ ...line, host: this.#options.hostName, timeNs });
        this.#pending.push({ line, timeMs });
        if (this.#pending.length > mostPending) this.#pending.shift();
      },
    });
    return reader.run(signal);
  }

  /** Retries the lines about GPUs that had not been identified by a frame. */
  #applyPending(): void {
    const { hostName } = this.#options;
    this.#pending = this.#pending.filter(
      ({ line, timeMs }) => !applyKernelLine(this.#watch, hostName, line, timeMs),
    );
  }

  async #memorySamples(): Promise<ListedReading[]> {
    const { sysfs, hostName } = this.#options;
    const controllers = await readMemoryControllers(sysfs, hostFileAccess);
    if (!controllers.ok) return [];
    return controllers.value.flatMap(({ name, corrected, uncorrected }) =>
      (
        [
          ["corrected", corrected],
          ["uncorrected", uncorrected],
        ] as const
      ).flatMap(([type, count]) => {
        const labels = labelSet({ host: hostName, controller: name, type });
        return count.ok ? [{ metric: host.memoryErrors, labels, value: count.value }] : [];
      }),
    );
  }
}
