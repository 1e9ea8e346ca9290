/** Events as small marks on the time axis, each with its text for pointer and keyboard. */
import { formatInstant, type TimeWindow } from "../view-state/range.ts";
import type { ChartMark } from "./model.ts";

export function Marks({ marks, window }: { marks: readonly ChartMark[]; window: TimeWindow }) {
  const { fromMs, toMs } = window;
  const inside = marks.filter(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs);
  if (inside.length === 0) return null;
  return (
    <ul class="marks" aria-label="Events">
      {inside.map(({ timeMs, text, level }, at) => (
        <li
          key={`${timeMs} ${at}`}
          data-level={level}
          style={{ left: `${((timeMs - fromMs) / (toMs - fromMs)) * 100}%` }}
          data-tip={`${formatInstant(timeMs)}\n${text}`}
        >
          <span class="unseen">{`${formatInstant(timeMs)}: ${text}`}</span>
        </li>
      ))}
    </ul>
  );
}
