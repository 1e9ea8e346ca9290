/** Native histograms with this GPU's labels, such as request latencies of the model it serves: rate and quantiles. */
import { HistogramCharts } from "../../chart/histogram-charts.tsx";
import { unitOf } from "../../query/meaning.ts";
import { useInstant } from "../../query/use-fetch.ts";
import { timeWindow } from "../../view-state/time.ts";

const MOST = 6;

/** `who`: the matchers of the GPU. */
export function Histograms({ who }: { who: string }) {
  const named = `label_replace(histogram_count({${who}}), "metric", "$1", "__name__", "(.+)")`;
  const atMs = Math.floor(timeWindow.value.toMs / 60_000) * 60_000;
  const { value } = useInstant(`count by (metric) (${named})`, atMs);
  const metrics = (value?.samples ?? []).flatMap(({ labels }) => labels["metric"] ?? []).sort();
  if (metrics.length === 0) return null;
  return (
    <section aria-label="Histograms">
      <h3>Histograms</h3>
      <div class="chart-grid">
        {metrics.slice(0, MOST).map((metric) => (
          <div key={metric}>
            <HistogramCharts
              title={`${metric}, per second`}
              query={`rate({__name__="${metric}",${who}}[5m])`}
              unit={unitOf(metric)}
              family="count"
            />
          </div>
        ))}
      </div>
      {metrics.length > MOST && <p class="unit">and {metrics.length - MOST} more: see Explore</p>}
    </section>
  );
}
