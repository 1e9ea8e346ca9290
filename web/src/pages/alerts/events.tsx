/** Events in the current range: alerts, devices, deliveries, and user marks. The same events are marks on every chart. */
import { useRef, useState } from "preact/hooks";
import { useFetch } from "../../query/use-fetch.ts";
import { ApiError, getJson, send } from "../../query/http.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Labels } from "../../ui/labels.tsx";
import { toast } from "../../ui/toast.ts";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant, formatRange, writeRange } from "../../view-state/range.ts";
import { range, timeWindow, zoomTo } from "../../view-state/time.ts";
import { type ApiEvent, levelOf } from "./api.ts";

interface EventsAnswer {
  readonly data: { readonly events: readonly ApiEvent[]; readonly truncated: boolean };
}

/** A live range moves this far before it is queried again. */
const AHEAD_MS = 10_000;
/** Shown on each side of an event. */
const AROUND_MS = 300_000;

export function Events() {
  const { fromMs, toMs } = timeWindow.value;
  const [kind, setKind] = useState("all");
  // A live range moves all the time, but its key stays the same and is refreshed at an interval.
  const latest = useRef(timeWindow.value);
  latest.current = timeWindow.value;
  const answer = useFetch(
    JSON.stringify(range.value),
    async (signal) => {
      const { fromMs: startMs, toMs: endMs } = latest.current;
      const query = new URLSearchParams({
        start: String(startMs / 1_000),
        end: String((endMs + AHEAD_MS) / 1_000),
      });
      return (await getJson(`api/events?${query.toString()}`, signal)) as EventsAnswer;
    },
    5_000,
  );
  if (answer.error !== undefined && answer.error.status !== 0)
    return (
      <Banner level="note" title="Events are unavailable.">
        {answer.error.message}
      </Banner>
    );
  const all = (answer.value?.data.events ?? []).filter(({ time }) => {
    const ms = Date.parse(time);
    return ms >= fromMs && ms <= toMs + AHEAD_MS;
  });
  const kinds = ["all", ...new Set(all.map((event) => event.kind))];
  const shown = all
    .filter((event) => kind === "all" || event.kind === kind)
    .sort((one, other) => Date.parse(other.time) - Date.parse(one.time));
  return (
    <>
      <div class="bar-line">
        <span class="unit">
          {formatRange(range.value)}
          {answer.value === undefined
            ? ": loading…"
            : `: ${shown.length} ${shown.length === 1 ? "event" : "events"}`}
          {answer.value?.data.truncated === true ? ", the newest only" : ""}
        </span>
        <span class="spacer" />
        {kinds.length > 2 && (
          <div class="choice" role="group" aria-label="Kind of event">
            {kinds.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={kind === one}
                onClick={() => setKind(one)}
              >
                {one}
              </button>
            ))}
          </div>
        )}
        <MarkNow onDone={answer.again} />
      </div>
      {shown.length === 0 && answer.value !== undefined ? (
        <Empty title="Nothing happened in this range.">
          Alerts, GPUs that appear or disappear, and events sent to <code>POST /api/events</code>{" "}
          are listed here and marked on every chart.
        </Empty>
      ) : (
        <ol class="events">
          {shown.slice(0, 500).map((event) => (
            <li key={event.id} data-level={levelOf(event.severity)} data-kind={event.kind}>
              <button
                type="button"
                class="link"
                data-tip="Show the minutes around it"
                onClick={() =>
                  zoomTo(Date.parse(event.time) - AROUND_MS, Date.parse(event.time) + AROUND_MS)
                }
              >
                {formatInstant(Date.parse(event.time))}
              </button>
              <span class="word">{event.state ?? event.kind}</span>
              <div>
                <strong>{event.title}</strong>{" "}
                {event.text !== undefined && <p class="unit">{event.text}</p>}
                <SubjectLink event={event} />
                <Labels labels={event.labels} without={["severity", "uuid", "job", "instance"]} />
              </div>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** Leads to the GPU or the host that the event is about, at its time. */
function SubjectLink({ event: { labels, time } }: { event: ApiEvent }) {
  const { uuid, host, gpu } = labels;
  if (host === undefined) return null;
  const ms = Date.parse(time);
  const around = writeRange({ kind: "between", fromMs: ms - AROUND_MS, toMs: ms + AROUND_MS });
  if (uuid === undefined) return <a href={hrefOf("host", { host, ...around })}>Charts of {host}</a>;
  return (
    <a href={hrefOf("gpu", { uuid: `${uuid}@${host}`, ...around })}>
      Charts of GPU {gpu ?? uuid.slice(0, 12)} on {host}
    </a>
  );
}

/** Adds a user event, such as a deployment or a cleaned fan, which is marked on every chart. */
function MarkNow({ onDone }: { onDone: () => void }) {
  const [title, setTitle] = useState("");
  const mark = async (): Promise<void> => {
    if (title.trim() === "") return;
    try {
      await send("POST", "api/events", { title: title.trim() });
      setTitle("");
      onDone();
    } catch (thrown) {
      toast(thrown instanceof ApiError ? thrown.message : String(thrown), "bad");
    }
  };
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        void mark();
      }}
    >
      <input
        class="input"
        type="text"
        aria-label="Event to mark"
        placeholder="new driver on node 3"
        value={title}
        onInput={(event) => setTitle(event.currentTarget.value)}
      />
      <button type="submit" class="quiet">
        Mark now
      </button>
    </form>
  );
}
