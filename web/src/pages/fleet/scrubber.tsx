/** The moment for heatmap and table: a slider over the current range, and a replay of it. */
import { useEffect, useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { formatInstant } from "../../view-state/range.ts";
import { goLive, timeWindow } from "../../view-state/time.ts";
import { isMomentLoaded, momentError, momentMs, showMoment } from "./moment.ts";

const STEPS = 240;
const REPLAY_EVERY_MS = 400;

export function Scrubber() {
  const { fromMs, toMs } = timeWindow.value;
  const stepMs = Math.max(1_000, Math.ceil((toMs - fromMs) / STEPS / 1_000) * 1_000);
  const last = Math.ceil((toMs - fromMs) / stepMs);
  const atMs = momentMs.value;
  const step = atMs === undefined ? last : Math.round((atMs - fromMs) / stepMs);
  const show = (next: number): void =>
    showMoment(next >= last ? toMs : Math.floor((fromMs + next * stepMs) / 1_000) * 1_000);
  const [replaying, setReplaying] = useState(false);
  useEffect(() => {
    if (!replaying) return undefined;
    if (atMs !== undefined && step >= last) return setReplaying(false);
    if (!isMomentLoaded.value) return undefined;
    // From the live view, a replay starts with the range.
    const timer = setTimeout(() => show(atMs === undefined ? 0 : step + 1), REPLAY_EVERY_MS);
    return () => clearTimeout(timer);
  }, [replaying, step, isMomentLoaded.value]);
  return (
    <section
      class="scrubber"
      aria-label="Moment shown"
      data-past={atMs === undefined ? undefined : ""}
    >
      <button
        type="button"
        class="quiet"
        onClick={() => {
          if (!replaying && atMs !== undefined && step >= last) show(0);
          setReplaying(!replaying);
        }}
      >
        {replaying ? "Pause" : "Replay"}
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={step}
        aria-label="Moment shown"
        aria-valuetext={atMs === undefined ? "now" : formatInstant(atMs)}
        data-tip="Move back to see the fleet at a past moment"
        onInput={(event) => {
          setReplaying(false);
          show(event.currentTarget.valueAsNumber);
        }}
      />
      <output>
        {atMs === undefined ? (
          "Now"
        ) : (
          <>
            <strong>Past:</strong> {formatInstant(atMs)}{" "}
            <span class="unit">
              {isMomentLoaded.value
                ? `${formatAge(Math.max(0, hubTimeMs() - atMs))} ago`
                : (momentError.value ?? "reading…")}
            </span>
          </>
        )}
      </output>
      {atMs !== undefined && (
        <button type="button" class="quiet" onClick={goLive}>
          Back to now
        </button>
      )}
    </section>
  );
}
