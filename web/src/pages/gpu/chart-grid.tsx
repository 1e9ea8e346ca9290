/** The charts the device has readings for, and the names of those it has none for. */
import type { WireDevice } from "../../../../src/view/live/protocol.ts";
import { QueryChart } from "../../chart/query-chart.tsx";
import { gpuId } from "../../../../src/view/gpu.ts";
import type { Labels } from "../../query/columns.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";
import { useAfterPaint } from "../../ui/use-after-paint.ts";
import { rangeMs } from "../../view-state/time.ts";
import { charts, isCondensed, isChartReported, queriesOf } from "./charts.ts";

/** Side by side on a wide screen: drawn first. */
const FIRST_ROW = 3;

export function ChartGrid({
  device,
  reported,
}: {
  device: Pick<WireDevice, "host" | "uuid">;
  reported: ReadonlySet<string>;
}) {
  const concerns = (labels: Labels): boolean =>
    (labels["host"] ?? device.host) === device.host &&
    (labels["uuid"] ?? device.uuid) === device.uuid;
  const isPainted = useAfterPaint();
  const shown = charts.filter((spec) => isChartReported(spec, reported));
  const absent = charts.filter((spec) => !isChartReported(spec, reported));
  return (
    <>
      <div class="chart-grid">
        {(isPainted ? shown : shown.slice(0, FIRST_ROW)).map((spec) => {
          const { key, lines, ...look } = spec;
          const highest = lines.some(({ over }) => over === "max");
          return (
            <QueryChart
              key={`${gpuId(device)} ${key}`}
              {...look}
              queries={queriesOf(spec, matchersOf(device), reported, rangeMs.value)}
              events={concerns}
            >
              {isCondensed(rangeMs.value) && (
                <span class="unit">{highest ? "highest" : "mean"} of each point</span>
              )}
            </QueryChart>
          );
        })}
      </div>
      {isPainted && absent.length > 0 && (
        <p class="unit not-reported">
          Not reported by this device: {absent.map(({ title }) => title.split(",")[0]).join(", ")}.
        </p>
      )}
    </>
  );
}
