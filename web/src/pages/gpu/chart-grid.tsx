/** The charts with readings of the device, and the names of those without. */
import type { WireDevice } from "../../../../src/view/live/protocol.ts";
import { QueryChart } from "../../chart/query-chart.tsx";
import { gpuId } from "../../../../src/view/gpu.ts";
import type { ChartLine, StoredStatistics } from "../../chart/model.ts";
import type { Labels } from "../../query/columns.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";
import { useAfterPaint } from "../../ui/use-after-paint.ts";
import { rangeMs } from "../../view-state/time.ts";
import type { SeriesStatistic, SeriesStatistics } from "./series-statistics.ts";
import { charts, isCondensed, isChartReported, queriesOf } from "./charts.ts";

/** Side by side on a wide screen: drawn first. */
const FIRST_ROW = 3;

export interface ChartGridProps {
  readonly device: Pick<WireDevice, "host" | "uuid">;
  readonly reported: ReadonlySet<string>;
  readonly found: SeriesStatistics;
}

export function ChartGrid({ device, reported, found }: ChartGridProps) {
  const stored = ({ metric, labels = {} }: ChartLine): StoredStatistics | undefined => {
    if (metric === undefined || !found.isKnown("min")) return undefined;
    const of = (name: SeriesStatistic) => found.find(name, metric, labels);
    const [min, max, mean] = [of("min"), of("max"), of("avg")];
    if (min === undefined || max === undefined || mean === undefined) return undefined;
    return { newest: of("newest"), min, max, mean };
  };
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
              stored={stored}
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
