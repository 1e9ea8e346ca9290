/** States over time as bars: throttle reasons, power states, availability. Off is empty, missing readings are hatched. */
import { useId } from "preact/hooks";
import { formatAge } from "../../../src/view/age.ts";
import { formatInstant, type TimeWindow } from "../view-state/range.ts";
import { ChartMenu } from "./chart-menu.tsx";
import type { ChartQuery, ColourFamily } from "./model.ts";
import { shareOn, type StateSpan } from "./spans.ts";
import { TimeFrame } from "./time-frame.tsx";

export interface TimelineRow {
  readonly key: string;
  readonly label: string;
  /** Meaning of the row, as its tooltip. */
  readonly tip?: string;
  readonly level?: "note" | "warn" | "bad";
  readonly stretches: readonly StateSpan[];
  /** Text for a value; "on" by default. 0 is off and not drawn. */
  readonly say?: (value: number) => string;
}

export interface StateTimelineProps {
  readonly title: string;
  readonly family?: ColourFamily;
  readonly rows: readonly TimelineRow[];
  readonly window: TimeWindow;
  /** Text for a timeline without rows. */
  readonly empty?: string;
  /** The PromQL behind the rows, for the menu; no menu if absent. */
  readonly queries?: readonly ChartQuery[];
}

export function StateTimeline({
  title,
  family = "count",
  rows,
  window,
  empty,
  queries,
}: StateTimelineProps) {
  const id = useId();
  return (
    <figure class="chart timeline" data-family={family} aria-labelledby={id}>
      <figcaption>
        <h3 id={id}>{title}</h3>
        {queries !== undefined && (
          <>
            <span class="spacer" />
            <ChartMenu look={{ title, family, unit: "none" }} queries={queries} window={window} />
          </>
        )}
      </figcaption>
      {rows.length === 0 ? (
        <p class="unit">{empty ?? "No reading in this range."}</p>
      ) : (
        <TimeFrame window={window}>
          <ul class="lanes">
            {rows.map((row) => (
              <TimelineTrack key={row.key} row={row} window={window} />
            ))}
          </ul>
        </TimeFrame>
      )}
    </figure>
  );
}

function TimelineTrack({ row, window }: { row: TimelineRow; window: TimeWindow }) {
  const { fromMs, toMs } = window;
  const drawn = row.stretches.filter(
    (one) => one.value !== 0 && one.toMs > fromMs && one.fromMs < toMs,
  );
  return (
    <li>
      <span class="lane-label" data-tip={row.tip ?? row.label}>
        {row.label}
      </span>
      <span class="lane" role="img" aria-label={spoken(row)}>
        {drawn.map((one) => {
          const from = Math.max(fromMs, one.fromMs);
          const width = (Math.min(toMs, one.toMs) - from) / (toMs - fromMs);
          return (
            <i
              key={one.fromMs}
              data-level={row.level}
              data-absent={Number.isNaN(one.value) ? "" : undefined}
              data-tip={tipOf(row, one)}
              style={{
                left: `${(((from - fromMs) / (toMs - fromMs)) * 100).toFixed(3)}%`,
                width: `${(width * 100).toFixed(3)}%`,
              }}
            />
          );
        })}
      </span>
    </li>
  );
}

function tipOf({ label, say }: TimelineRow, { fromMs, toMs, value }: StateSpan): string {
  const word = Number.isNaN(value) ? "no reading" : (say?.(value) ?? "on");
  return `${label}: ${word}\n${formatInstant(fromMs)}, for ${formatAge(toMs - fromMs)}`;
}

function spoken({ label, stretches }: TimelineRow): string {
  const share = shareOn(stretches);
  const times = stretches.filter(({ value }) => value > 0).length;
  if (share === undefined) return `${label}: no reading`;
  return share === 0
    ? `${label}: never`
    : `${label}: ${times === 1 ? "once" : `${times} times`}, ${Math.max(1, Math.round(share * 100))} % of the time`;
}
