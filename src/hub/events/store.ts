/**
 * The timeline: events in the order of their time, in memory and in a checksummed log of their own. Bounded by number and
 * age, the oldest go first; what `add` returned for outlives a kill.
 */
import path from "node:path";
import type { Log } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import { matchAll } from "../../query/matcher.ts";
import { StateLog } from "../../base/state/state-log.ts";
import type { Matcher } from "../../model/select.ts";
import {
  boundEvent,
  type EventKind,
  eventKinds,
  eventSeverities,
  type EventSink,
  type NewEvent,
  type TimelineEvent,
} from "./event.ts";

export interface EventStoreOptions {
  readonly dataDir: string;
  readonly retentionMs: number;
  /** Follows no jump of the wall clock: events are forgotten by it. */
  readonly trustedNowMs: () => number;
  readonly log: Log;
  /** The most that is kept, give or take a fiftieth. */
  readonly maxEvents?: number;
}

export interface EventQuery {
  readonly fromMs: number;
  readonly toMs: number;
  /** All where it is empty. */
  readonly kinds?: readonly EventKind[];
  /** One set must fit; every event does where there is none. */
  readonly matchers?: readonly (readonly Matcher[])[];
  /** The newest so many. */
  readonly limit: number;
}

const defaultMaxEvents = 50_000;
/** So much above the bound, as a part of it, is let stand for a while. */
const slackShare = 50;
/** The file is written again when it holds this many records more than there are events. */
const slackRecords = 5_000;

export class EventStore implements EventSink {
  readonly #options: EventStoreOptions;
  readonly #maxEvents: number;
  readonly #log: StateLog;
  readonly #keys = new Set<string>();
  readonly #listeners = new Set<(event: TimelineEvent) => void>();
  /** By time; events of one instant in the order they were reported. */
  #events: TimelineEvent[] = [];
  #records = 0;
  #next = 1;

  constructor(options: EventStoreOptions) {
    this.#options = options;
    this.#maxEvents = options.maxEvents ?? defaultMaxEvents;
    const file = path.join(options.dataDir, "events", "events.log");
    this.#log = new StateLog(
      file,
      { log: options.log },
      {
        reset: () => this.#reset(),
        record: (payload) => {
          this.#records++;
          const event = readEvent(payload);
          if (event !== undefined) this.#place(event);
          return event !== undefined;
        },
      },
    );
    this.#trim();
  }

  get size(): number {
    return this.#events.length;
  }

  /** What is older is not kept. */
  get oldestMs(): number {
    return this.#options.trustedNowMs() - this.#options.retentionMs;
  }

  add(given: NewEvent): TimelineEvent | undefined {
    if (given.key !== undefined && this.#keys.has(given.key)) return undefined;
    if (given.timeMs < this.oldestMs) return undefined;
    const event = { ...boundEvent(given), id: String(this.#next) };
    this.#log.append(event);
    this.#records++;
    this.#place(event);
    this.#trim();
    for (const listener of this.#listeners) listener(event);
    return event;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** In the order of their time, and whether older ones were left out. */
  list(query: EventQuery): { readonly events: readonly TimelineEvent[]; readonly cut: boolean } {
    const kinds = new Set(query.kinds ?? []);
    const fits = (query.matchers ?? []).map(matchAll);
    const found: TimelineEvent[] = [];
    for (let at = this.#events.length - 1; at >= 0; at--) {
      const event = this.#events[at];
      if (event === undefined || event.timeMs > query.toMs) continue;
      if ((event.endMs ?? event.timeMs) < query.fromMs) continue;
      if (kinds.size > 0 && !kinds.has(event.kind)) continue;
      if (fits.length > 0) {
        const labels = labelSet(event.labels);
        if (!fits.some((fit) => fit(labels))) continue;
      }
      if (found.length === query.limit) return { events: found.reverse(), cut: true };
      found.push(event);
    }
    return { events: found.reverse(), cut: false };
  }

  /** Calls with every event from now on; the returned function ends it. */
  subscribe(listener: (event: TimelineEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#listeners.clear();
    this.#log.close();
  }

  #reset(): void {
    this.#events = [];
    this.#keys.clear();
    this.#records = 0;
    this.#next = 1;
  }

  #place(event: TimelineEvent): void {
    const at = this.#after(event.timeMs);
    if (at === this.#events.length) this.#events.push(event);
    else this.#events.splice(at, 0, event);
    if (event.key !== undefined) this.#keys.add(event.key);
    this.#next = Math.max(this.#next, Number(event.id) + 1);
  }

  /** Where the events after this time begin. */
  #after(timeMs: number): number {
    let [from, to] = [0, this.#events.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#events[middle]?.timeMs ?? 0) > timeMs) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** Not for every single one above the bound: each time the whole list moves. */
  #trim(): void {
    const { oldestMs } = this;
    const above = this.#events.length - this.#maxEvents;
    let expired = above > this.#maxEvents / slackShare ? above : 0;
    while (expired < this.#events.length && (this.#events[expired]?.timeMs ?? 0) < oldestMs)
      expired++;
    if (expired === 0) return this.#shorten();
    for (const { key } of this.#events.splice(0, expired))
      if (key !== undefined) this.#keys.delete(key);
    this.#shorten();
  }

  #shorten(): void {
    if (this.#records <= this.#events.length + slackRecords) return;
    this.#log.rewrite(this.#events);
    this.#records = this.#events.length;
  }
}

/** The records are ours and checksummed: one of a kind that is no more is left out. */
function readEvent(value: unknown): TimelineEvent | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const event = value as TimelineEvent;
  const understood =
    typeof event.id === "string" &&
    typeof event.timeMs === "number" &&
    typeof event.title === "string" &&
    eventKinds.includes(event.kind) &&
    eventSeverities.includes(event.severity) &&
    typeof event.labels === "object";
  return understood ? event : undefined;
}
