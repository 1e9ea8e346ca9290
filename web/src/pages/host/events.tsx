/**
 * Kernel lines and events of the host. Those at the charts' cursor are highlighted, and a line under the pointer moves the cursor
 * to its time.
 */
import { useEffect, useRef } from "preact/hooks";
import { cursor } from "../../chart/cursor.ts";
import { eventsIn, type HubEvent } from "../../query/events.ts";
import { useFetch } from "../../query/use-fetch.ts";
import { formatInstant } from "../../view-state/range.ts";
import { range, timeWindow } from "../../view-state/time.ts";
import { findEventsAt } from "./cursor-events.ts";

const EVERY_MS = 10_000;
/** Longer lists belong on the Events page, which has all of them. */
const MOST_SHOWN = 200;
const DAY_MS = 86_400_000;

export function HostEvents({ host }: { host: string }) {
  const latest = useRef(timeWindow.value);
  latest.current = timeWindow.value;
  const { fromMs, toMs } = timeWindow.value;
  const { value, error } = useFetch(
    `events ${host} ${JSON.stringify(range.value)}`,
    (signal) => eventsIn(latest.current, signal, `{host=${JSON.stringify(host)}}`),
    EVERY_MS,
  );
  const all = (value ?? []).filter(({ timeMs, endMs = timeMs }) => endMs >= fromMs);
  const events = all.toSorted((one, other) => other.timeMs - one.timeMs).slice(0, MOST_SHOWN);
  const pointed = cursor.value?.ms;
  const { at, nearest } = findEventsAt(events, pointed, toMs - fromMs);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const box = list.current;
    const row = nearest === undefined ? undefined : box?.children[nearest];
    // Scrolls only the list: the page must stay under the pointer.
    if (box !== null && row instanceof HTMLElement && cursor.peek()?.from !== box)
      box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }, [nearest]);
  return (
    <aside class="host-events" aria-label="Kernel lines and events">
      <h3>
        Kernel lines and events{" "}
        <span class="unit">
          {pointed === undefined
            ? ""
            : `at ${formatInstant(pointed).slice(11, 19)}: ${at.size === 0 ? "none" : at.size}`}
        </span>
      </h3>
      {events.length === 0 ? (
        <p class="unit">
          {error !== undefined && error.status !== 0
            ? error.message
            : value === undefined
              ? ""
              : "None in this range. Kernel lines come from gpulse up on the machine itself, or from an agent with --kernel-log hub+https://HUB:9410."}
        </p>
      ) : (
        <ol ref={list}>
          {events.map((event, index) => (
            <Row
              key={`${event.timeMs} ${event.text}`}
              event={event}
              isAtCursor={at.has(index)}
              isLong={toMs - fromMs > DAY_MS}
              onPoint={() => {
                if (list.current !== null)
                  cursor.value = { ms: event.timeMs, from: list.current, keys: true };
              }}
            />
          ))}
        </ol>
      )}
      {all.length > MOST_SHOWN && (
        <p class="unit">
          The newest {MOST_SHOWN} of {all.length}.
        </p>
      )}
    </aside>
  );
}

function Row({
  event: { timeMs, kind, text, level },
  isAtCursor,
  isLong,
  onPoint,
}: {
  event: HubEvent;
  isAtCursor: boolean;
  isLong: boolean;
  onPoint: () => void;
}) {
  return (
    <li data-level={level} data-at-cursor={isAtCursor ? "" : undefined}>
      <button type="button" onClick={onPoint} data-tip={formatInstant(timeMs)}>
        <time dateTime={new Date(timeMs).toISOString()}>
          {formatInstant(timeMs).slice(isLong ? 5 : 11, 19)}
        </time>{" "}
        <span class={`word ${level === "note" ? "" : level}`}>{kind}</span>{" "}
        <span class={kind === "kernel" ? "kernel-line" : undefined}>{text}</span>
      </button>
    </li>
  );
}
