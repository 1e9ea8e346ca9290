/** The time picker: a range up to now or between two times, the refresh interval of a live view, and the return to the present. */
import { useEffect, useRef, useState } from "preact/hooks";
import { formatInstant, formatRange, presets, writeDuration } from "../view-state/range.ts";
import { hubTimeMs } from "../live/feed.ts";
import { parseMoment } from "../view-state/moment.ts";
import { type Refresh, refreshes } from "../../../src/view/step.ts";
import {
  following,
  goLive,
  pickerOpen,
  range,
  rangeMs,
  refresh,
  setRange,
  timeWindow,
  zoomOut,
} from "../view-state/time.ts";

export function TimePicker() {
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const open = pickerOpen.value;
  const close = (): void => {
    if (!pickerOpen.peek()) return;
    pickerOpen.value = false;
    button.current?.focus();
  };
  useEffect(() => {
    if (!open) return undefined;
    (
      root.current?.querySelector<HTMLElement>('.picker [aria-pressed="true"]') ??
      root.current?.querySelector<HTMLElement>(".picker button")
    )?.focus();
    const outside = (event: Event): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) !== true)
        pickerOpen.value = false;
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  return (
    <div
      class="time"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.preventDefault();
        close();
      }}
    >
      <button
        ref={button}
        type="button"
        class="quiet range"
        aria-haspopup="dialog"
        aria-expanded={open}
        data-tip="Time range (t)"
        onClick={() => {
          pickerOpen.value = !open;
        }}
      >
        <span class="unseen">Time range: </span>
        <span class="long">{formatRange(range.value)}</span>
        <span class="short">
          {range.value.kind === "last"
            ? writeDuration(range.value.ms)
            : writeDuration(rangeMs.value)}
        </span>
      </button>
      {!following.value && (
        <button type="button" class="quiet" data-tip="Back to the present (l)" onClick={goLive}>
          Live
        </button>
      )}
      {open && <Picker close={close} />}
    </div>
  );
}

function Picker({ close }: { close: () => void }) {
  const { fromMs, toMs } = timeWindow.peek();
  const [from, setFrom] = useState(formatInstant(fromMs));
  const [to, setTo] = useState(formatInstant(toMs));
  const [wrong, setWrong] = useState("");
  const apply = (): void => {
    const [start, end] = [parseMoment(from, hubTimeMs()), parseMoment(to, hubTimeMs())];
    if (start === undefined || end === undefined)
      return setWrong("Write a time as 2026-01-31 14:05, yesterday 15:00, 14:30, 2h ago or now.");
    if (end <= start) return setWrong("The end must be after the start.");
    setRange({ kind: "between", fromMs: start, toMs: end });
    return close();
  };
  const now = range.value;
  return (
    <div class="picker" role="dialog" aria-label="Time range">
      <div class="presets">
        {presets.map(({ ms, says }) => (
          <button
            key={ms}
            type="button"
            aria-pressed={now.kind === "last" && now.ms === ms}
            onClick={() => {
              setRange({ kind: "last", ms });
              close();
            }}
          >
            {says}
          </button>
        ))}
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          apply();
        }}
      >
        <label>
          From{" "}
          <input
            value={from}
            placeholder="yesterday 15:00"
            onInput={(event) => setFrom(event.currentTarget.value)}
          />
        </label>
        <label>
          To <input value={to} onInput={(event) => setTo(event.currentTarget.value)} />
        </label>
        {wrong !== "" && (
          <p class="bad" role="alert">
            {wrong}
          </p>
        )}
        <div class="row">
          <button type="submit" class="quiet">
            Show
          </button>
          <button type="button" class="quiet" onClick={zoomOut}>
            Zoom out
          </button>
        </div>
        <label>
          Refresh{" "}
          <select
            value={refresh.value}
            onChange={(event) => {
              refresh.value = refreshes.find((one) => one === event.currentTarget.value) ?? "auto";
            }}
          >
            {refreshes.map((one) => (
              <option key={one} value={one}>
                {refreshWords[one]}
              </option>
            ))}
          </select>
        </label>
      </form>
    </div>
  );
}

const refreshWords: Readonly<Record<Refresh, string>> = {
  auto: "automatic",
  off: "off",
  "1s": "every second",
  "5s": "every 5 seconds",
  "15s": "every 15 seconds",
  "30s": "every 30 seconds",
  "1m": "every minute",
  "5m": "every 5 minutes",
};
