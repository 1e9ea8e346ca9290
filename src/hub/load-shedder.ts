/**
 * What this hub could not do when it was asked and told to come again later: counted, said once in the log when it begins and
 * once when it is over, and named as a problem while it lasts. It decides nothing: whoever sheds calls it.
 */
import { self } from "../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { labelSet } from "../model/labels.ts";
import { LayoutBuilder } from "../model/layout.ts";
import type { Log } from "../base/log.ts";
import { type ReceiverCounts, receiverNames, receiverOutcomes } from "./receive/receiver-counts.ts";

/** Requests that bring samples, queries, pages that watch, and connections of any kind. */
export const shedKinds = ["requests", "queries", "pages", "connections"] as const;
export type ShedKind = (typeof shedKinds)[number];

export interface LoadShedderOptions {
  readonly log: Log;
  readonly nowMs: () => number;
  /** Counts the requests that were told to come again. */
  readonly received: ReceiverCounts;
  /** No timer: whoever opens it calls `look` (tests). */
  readonly manual?: boolean;
}

/** So long after the last one it is over; senders come again within five seconds. */
const overAfterMs = 30_000;
const lookEveryMs = 1_000;

const builder = new LayoutBuilder();
const slots = shedKinds.map((what) => builder.add(self.hubShed, labelSet({ what })));
const layout = builder.build();

export class LoadShedder {
  readonly #options: LoadShedderOptions;
  readonly #counts = { queries: 0, pages: 0, connections: 0 };
  readonly #timer: NodeJS.Timeout | undefined;
  #seen: Readonly<Record<ShedKind, number>>;
  /** As it was when this spell began. */
  #before: Readonly<Record<ShedKind, number>> | undefined;
  #lastMs = 0;

  constructor(options: LoadShedderOptions) {
    this.#options = options;
    this.#seen = this.counts;
    if (options.manual !== true) this.#timer = setInterval(() => this.look(), lookEveryMs).unref();
  }

  get counts(): Readonly<Record<ShedKind, number>> {
    const { received } = this.#options;
    const requests = receiverNames
      .filter((way) => receiverOutcomes[way].some((outcome) => outcome === "busy_request"))
      .reduce((sum, way) => sum + received.count(way, "busy_request"), 0);
    return { requests, ...this.#counts };
  }

  shed(what: Exclude<ShedKind, "requests">): void {
    this.#counts[what]++;
  }

  /** One sentence while it lasts. */
  problems(): readonly string[] {
    this.look();
    return this.#before === undefined
      ? []
      : [
          `asked for more than this hub can do: ${this.#told(this.#before)} told to come again later`,
        ];
  }

  frame(): Frame {
    const writer = new FrameWriter(layout, this.#options.nowMs());
    const { counts } = this;
    shedKinds.forEach((what, at) => writer.set(slots[at] ?? -1, counts[what]));
    return writer.finish();
  }

  look(): void {
    const { log, nowMs } = this.#options;
    const { counts } = this;
    if (shedKinds.some((what) => counts[what] > this.#seen[what])) {
      this.#lastMs = nowMs();
      if (this.#before === undefined) {
        this.#before = this.#seen;
        log.warn("the hub is asked for more than it can do: some are told to come again later", {
          told: this.#told(this.#seen),
        });
      }
    } else if (this.#before !== undefined && nowMs() - this.#lastMs >= overAfterMs) {
      log.info("the hub does all it is asked for again", { told: this.#told(this.#before) });
      this.#before = undefined;
    }
    this.#seen = counts;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #told(since: Readonly<Record<ShedKind, number>>): string {
    const { counts } = this;
    return shedKinds
      .filter((what) => counts[what] > since[what])
      .map((what) => `${counts[what] - since[what]} ${what}`)
      .join(", ");
  }
}
