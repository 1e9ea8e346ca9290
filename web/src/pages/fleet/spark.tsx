/** The last minutes as a thin line; a gap stays a gap. */
import type { HistoryKey } from "../../../../src/view/live/protocol.ts";
import { HISTORY_SECONDS } from "../../../../src/view/live/history.ts";
import { computed } from "@preact/signals";
import { curves } from "./moment.ts";
import { linePath } from "./spark-path.ts";

const [WIDTH, HEIGHT] = [150, 20];
const SECONDS_PER_PIXEL = Math.ceil(HISTORY_SECONDS / WIDTH);

const history = computed(() => curves.value.history);
/** The last second of a whole pixel: a line that moves by half a pixel looks the same, and costs every row a new path. */
const endSecond = computed(
  () => Math.floor((curves.value.endSecond + 1) / SECONDS_PER_PIXEL) * SECONDS_PER_PIXEL - 1,
);

export function Spark({ id, metric, max }: { id: string; metric: HistoryKey; max: number }) {
  const points = history.value.read(id, metric, endSecond.value, HISTORY_SECONDS);
  const path = linePath(points, {
    width: WIDTH,
    height: HEIGHT,
    min: 0,
    max,
    endSecond: endSecond.value,
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
