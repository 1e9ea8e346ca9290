/** The time selected by dragging in a chart, and the offer to list what changed in it. */
import { formatRange, type TimeWindow } from "../view-state/range.ts";
import { askForChanges, type ChangeSubject } from "./changes-subject.ts";

export interface ChangesOfferProps {
  readonly dragged: TimeWindow;
  readonly subject: ChangeSubject | undefined;
  /** The window of the chart. */
  readonly window: TimeWindow;
  readonly onClose: () => void;
}

/** Tolerance for rounding when two times are compared. */
const NEAR_MS = 1_500;

export function ChangesOffer({ dragged, subject, window, onClose }: ChangesOfferProps) {
  const isWhole =
    Math.abs(dragged.fromMs - window.fromMs) < NEAR_MS &&
    Math.abs(dragged.toMs - window.toMs) < NEAR_MS;
  const isInside = dragged.fromMs >= window.fromMs && dragged.toMs <= window.toMs;
  // The chart shows another time by now, or the data of the selected time has not arrived.
  if (subject === undefined || (!isWhole && !isInside)) return null;
  const spanMs = window.toMs - window.fromMs;
  const share = (ms: number): string => `${((100 * ms) / spanMs).toFixed(3)}%`;
  return (
    <>
      {!isWhole && (
        <div class="dragged" aria-hidden="true">
          <i
            style={{
              left: share(dragged.fromMs - window.fromMs),
              width: share(dragged.toMs - dragged.fromMs),
            }}
          />
        </div>
      )}
      <p class="changes-offer">
        <button
          type="button"
          data-tip={formatRange({ kind: "between", ...dragged })}
          onClick={() => askForChanges(subject, dragged)}
        >
          What changed here?
        </button>
        <button type="button" class="quiet" aria-label="Hide this offer" onClick={onClose}>
          <span aria-hidden="true">✕</span>
        </button>
      </p>
    </>
  );
}
