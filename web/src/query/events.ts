/** The hub's event log, for the marks on every chart. Empty for a hub without one. */
import { useEffect, useState } from "preact/hooks";
import type { TimeWindow } from "../view-state/range.ts";
import type { Labels } from "./columns.ts";
import { ApiError, getJson } from "./http.ts";

export interface HubEvent {
  readonly timeMs: number;
  readonly endMs?: number;
  readonly kind: string;
  readonly text: string;
  readonly level: "note" | "warn" | "bad";
  readonly labels: Labels;
}

/** Refresh interval of a live range. */
const EVERY_MS = 30_000;
let absent = false;

/** `match`: a selector of the events' labels; all if absent. */
export async function eventsIn(
  { fromMs, toMs }: TimeWindow,
  signal?: AbortSignal,
  match?: string,
): Promise<readonly HubEvent[]> {
  if (absent) return [];
  try {
    const query = new URLSearchParams({
      start: String(fromMs / 1_000),
      end: String(toMs / 1_000),
      ...(match === undefined ? {} : { "match[]": match }),
    });
    return readEvents(await getJson(`api/events?${query.toString()}`, signal));
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    absent ||= thrown.missing;
    return [];
  }
}

const always = (): boolean => true;

export function useEvents(
  window: TimeWindow | undefined,
  wanted: (labels: Labels) => boolean = always,
): readonly HubEvent[] {
  const [events, setEvents] = useState<readonly HubEvent[]>([]);
  const fromMs = Math.floor((window?.fromMs ?? 0) / EVERY_MS) * EVERY_MS;
  const toMs = Math.ceil((window?.toMs ?? 0) / EVERY_MS) * EVERY_MS;
  useEffect(() => {
    if (toMs === 0) return undefined;
    const abort = new AbortController();
    eventsIn({ fromMs, toMs }, abort.signal)
      .then(setEvents)
      .catch(() => undefined);
    return () => abort.abort();
  }, [fromMs, toMs]);
  return events.filter((event) => isMark(event) && wanted(event.labels));
}

/** Routine driver messages are listed on the host page only, not marked on every chart. */
const isMark = ({ kind, level }: HubEvent): boolean => kind !== "kernel" || level !== "note";

function readEvents(body: unknown): HubEvent[] {
  const data = isRecord(body) && isRecord(body["data"]) ? body["data"] : body;
  const list: unknown = isRecord(data) ? data["events"] : [];
  return Array.isArray(list) ? list.flatMap(readEvent) : [];
}

function readEvent(one: unknown): HubEvent[] {
  if (!isRecord(one)) return [];
  const timeMs = instant(one["timeMs"] ?? one["time"] ?? one["start"]);
  const endMs = instant(one["endMs"] ?? one["end"]);
  if (timeMs === undefined) return [];
  const text = one["title"] ?? one["text"] ?? one["kind"];
  const labels = isRecord(one["labels"]) ? one["labels"] : {};
  return [
    {
      timeMs,
      ...(endMs === undefined ? {} : { endMs }),
      kind: typeof one["kind"] === "string" ? one["kind"] : "event",
      text: typeof text === "string" ? text : "event",
      level: levelOf(one["level"] ?? one["severity"]),
      labels: Object.fromEntries(
        Object.entries(labels).filter(
          (entry): entry is [string, string] => typeof entry[1] === "string",
        ),
      ),
    },
  ];
}

function levelOf(given: unknown): HubEvent["level"] {
  if (given === "bad" || given === "critical" || given === "error") return "bad";
  return given === "warn" || given === "warning" ? "warn" : "note";
}

function instant(given: unknown): number | undefined {
  if (typeof given === "number") return given < 1e11 ? given * 1_000 : given;
  const ms = typeof given === "string" ? Date.parse(given) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
