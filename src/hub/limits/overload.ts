/**
 * Counts requests refused because of overload, logs the beginning and end of an overload, and reports it as a problem while it
 * lasts. It makes no decisions: the limits (see client.ts) call `shed`.
 */
import { self } from "../../model/catalogue/index.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import type { Log } from "../../base/log.ts";
import { type ReceiverCounts, receiverNames } from "../receive/receiver-counts.ts";

/** Ingestion requests, queries, live streams of pages, and connections of any kind. */
const shedKinds = ["requests", "queries", "pages", "connections"] as const;
export type ShedKind = (typeof shedKinds)[number];

export interface OverloadMonitorOptions {
  readonly log: Log;
  readonly nowMs: () => number;
  /** Counts the requests that receivers refused. */
  readonly received: ReceiverCounts;
  /** No timer: the caller calls `check` (tests). */
  readonly manual?: boolean;
}

/** An overload is over this long after the last refusal; clients retry within five seconds. */
const overAfterMs = 30_000;
const checkEveryMs = 1_000;

type ShedCounts = Readonly<Record<ShedKind, number>>;

export class OverloadMonitor {
  readonly #options: OverloadMonitorOptions;
  readonly #counts = { queries: 0, pages: 0, connections: 0 };
  readonly #timer: NodeJS.Timeout | undefined;
  #lastCounts: ShedCounts;
  /** The counts when the current overload began. */
  #before: ShedCounts | undefined;
  #lastMs = 0;

  constructor(options: OverloadMonitorOptions) {
    this.#options = options;
    this.#lastCounts = this.counts;
    if (options.manual !== true)
      this.#timer = setInterval(() => this.check(), checkEveryMs).unref();
  }

  get counts(): ShedCounts {
    const { received } = this.#options;
    const requests = receiverNames.reduce(
      (sum, receiver) => sum + received.count(receiver, "busy_request"),
      0,
    );
    return { requests, ...this.#counts };
  }

  shed(what: Exclude<ShedKind, "requests">): void {
    this.#counts[what]++;
  }

  /** Returns one sentence while an overload lasts. */
  problems(): readonly string[] {
    this.check();
    return this.#before === undefined
      ? []
      : [`overloaded: ${this.#since(this.#before)} refused, clients retry later`];
  }

  readonly selfMetrics: CollectMetrics = (put) => {
    const { counts } = this;
    for (const what of shedKinds) put(self.hubShed, counts[what], { what });
  };

  check(): void {
    const { log, nowMs } = this.#options;
    const { counts } = this;
    if (shedKinds.some((what) => counts[what] > this.#lastCounts[what])) {
      this.#lastMs = nowMs();
      if (this.#before === undefined) {
        this.#before = this.#lastCounts;
        log.warn("hub overloaded: some requests are refused and retried later", {
          refused: this.#since(this.#lastCounts),
        });
      }
    } else if (this.#before !== undefined && nowMs() - this.#lastMs >= overAfterMs) {
      log.info("hub overload is over", { refused: this.#since(this.#before) });
      this.#before = undefined;
    }
    this.#lastCounts = counts;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #since(before: ShedCounts): string {
    const { counts } = this;
    return shedKinds
      .filter((what) => counts[what] > before[what])
      .map((what) => `${counts[what] - before[what]} ${what}`)
      .join(", ");
  }
}
