/**
 * The timeline's events in order of time, in memory and in a checksummed log of their own. Bounded by number and age, the
 * oldest are evicted first. An event that `add` returned survives a kill of the process.
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
  /** A clock that follows no jump of the wall clock; events expire by it. */
  readonly trustedNowMs: () => number;
  readonly log: Log;
  /** Maximum number of events, exceeded by up to a fiftieth. */
  readonly maxEvents?: number;
}

export interface EventQuery {
  readonly fromMs: number;
  readonly toMs: number;
  /** All kinds if empty or absent. */
  readonly kinds?: readonly EventKind[];
  /** Alternatives, of which one has to match; absent: every event matches. */
  readonly matchers?: readonly (readonly Matcher[])[];
  /** Maximum number of events; the newest are returned. */
  readonly limit: number;
}

const defaultMaxEvents = 50_000;
/** Tolerates this fraction above the bound (1/50), so that trimming is rare. */
const slackShare = 50;
/** The file is rewritten when it holds this many records more than there are events. */
const slackRecords = 5_000;

export class EventStore implements EventSink {
  readonly #options: EventStoreOptions;
  readonly #maxEvents: number;
  readonly #log: StateLog;
  readonly #keys = new Set<string>();
  readonly #listeners = new Set<(event: TimelineEvent) => void>();
  /** By time; events of the same time in the order of arrival. */
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

  /** Start of the retention. */
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

  /** Returns the events in order of time, and whether older ones were cut off. */
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

  /** Subscribes to new events; the returned function unsubscribes. */
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

  /** Index of the first event after this time. */
  #after(timeMs: number): number {
    let [from, to] = [0, this.#events.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#events[middle]?.timeMs ?? 0) > timeMs) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** Trims in batches: each time the whole list moves. */
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

/** The records are checksummed; one of a removed kind is skipped. */
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
