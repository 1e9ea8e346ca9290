/** A state timeline of PromQL: each series of the result is a row. */
import { useMemo, useRef } from "preact/hooks";
import { keyOf, type Labels } from "../query/columns.ts";
import { useRange } from "../query/use-range.ts";
import { useWidth } from "../ui/use-size.ts";
import type { TimeWindow } from "../view-state/range.ts";
import { timeWindow } from "../view-state/time.ts";
import type { ColourFamily } from "./model.ts";
import { fillStep } from "./promql.ts";
import { findStateSpans } from "./spans.ts";
import { StateTimeline, type TimelineRow } from "./state-timeline.tsx";

export interface QueryTimelineProps {
  readonly title: string;
  /** For example, `max_over_time(gpu_throttle_active{uuid="…"}[$step])`, so that no short state falls between two points. */
  readonly query: string;
  readonly row: (labels: Labels) => Pick<TimelineRow, "label" | "tip" | "level" | "say">;
  readonly family?: ColourFamily;
  readonly empty?: string;
  /** Omits rows that were never on. */
  readonly onlyOn?: boolean;
  readonly window?: TimeWindow;
}

export function QueryTimeline({
  title,
  query,
  row,
  onlyOn = false,
  window,
  ...rest
}: QueryTimelineProps) {
  const host = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const { answer, error } = useRange([query], {
    widthPx,
    ...(window === undefined ? {} : { window }),
  });
  const rows = useMemo(() => {
    const matrix = answer?.matrices[0];
    if (matrix === undefined) return [];
    return matrix.series.flatMap(({ labels, values }): TimelineRow[] => {
      if (onlyOn && !values.some((value) => value > 0)) return [];
      return [{ key: keyOf(labels), ...row(labels), stretches: findStateSpans(values, matrix) }];
    });
  }, [answer, onlyOn]);
  const says = error !== undefined && error.status !== 0 ? error.message : rest.empty;
  return (
    <div ref={host}>
      {(answer !== undefined || error !== undefined) && (
        <StateTimeline
          {...rest}
          {...(says === undefined ? {} : { empty: says })}
          title={title}
          queries={fillStep([{ query, label: title }], answer?.grid)}
          rows={rows}
          window={answer?.window ?? window ?? timeWindow.value}
        />
      )}
    </div>
  );
}
