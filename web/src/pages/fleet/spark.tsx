/** The last minutes as a thin line; a gap stays a gap. */
import type { HistoryKey } from "../../../../src/view/live/protocol.ts";
import { HISTORY_SECONDS } from "../../../../src/view/live/history.ts";
import { curves } from "./moment.ts";
import { linePath } from "./spark-path.ts";

const [WIDTH, HEIGHT] = [150, 20];

export function Spark({ id, metric, max }: { id: string; metric: HistoryKey; max: number }) {
  const { history, endSecond } = curves.value;
  const points = history.read(id, metric, endSecond, HISTORY_SECONDS);
  const path = linePath(points, {
    width: WIDTH,
    height: HEIGHT,
    min: 0,
    max,
    endSecond,
  });
  return (
    <svg
      class="spark"
      viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="base" d={`M0 ${HEIGHT}H${WIDTH}`} />
      <path d={path} />
    </svg>
  );
}
