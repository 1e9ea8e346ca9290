/** Recorded runs over their own time: a colour per subject, a line per run. */
import type { Comparison } from "../../../../src/runs/compare/compare.ts";
import type { Curve } from "../../../../src/runs/compare/curves.ts";
import type { CompareUnit } from "../../../../src/runs/compare/metrics.ts";
import { formatNumber, sizeOf } from "../../../../src/runs/compare/quantity.ts";
import { pathOf } from "../../../../src/runs/compare/report/time-chart.ts";
import { ticksOf } from "../../../../src/lake/analyses/report/chart.ts";
import type { Colour } from "./difference-table.tsx";

const [width, height] = [560, 200] as const;
const edge = { left: 54, right: 10, top: 10, bottom: 24 } as const;

export function RunCharts({
  comparison,
  colours,
}: {
  comparison: Comparison;
  colours: readonly Colour[];
}) {
  return (
    <>
      <h2 class="section">Every run from its start</h2>
      <div class="compare-charts">
        {comparison.curves.map((curve) => {
          const metric = comparison.metrics.find(({ key }) => key === curve.metric);
          return metric === undefined ? null : (
            <RunChart
              key={curve.metric}
              {...{ curve, colours }}
              title={metric.title}
              unit={metric.unit}
            />
          );
        })}
      </div>
    </>
  );
}

interface RunChartProps {
  readonly title: string;
  readonly unit: CompareUnit;
  readonly curve: Curve;
  readonly colours: readonly Colour[];
}

function RunChart({ title, unit, curve, colours }: RunChartProps) {
  const runs = curve.of.flatMap((own, subject) => own.map((points) => ({ subject, points })));
  const known = runs.flatMap(({ points }) => points.values.filter((one) => one !== null));
  const most = known.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const least = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const size = sizeOf(most, unit);
  const ticks = ticksOf(least / size.divisor, most / size.divisor);
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const seconds = Math.max(...runs.map(({ points }) => points.stepSeconds * points.values.length));
  const x = (at: number) => edge.left + ((width - edge.left - edge.right) * at) / seconds;
  const y = (value: number) =>
    edge.top +
    (height - edge.top - edge.bottom) * (1 - (value / size.divisor - low) / (high - low || 1));
  const caption = `${title} (${size.unit})`;
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={caption}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line
              x1={edge.left}
              x2={width - edge.right}
              y1={y(tick * size.divisor)}
              y2={y(tick * size.divisor)}
            />
            <text x={edge.left - 6} y={y(tick * size.divisor) + 4} text-anchor="end">
              {formatNumber(tick)}
            </text>
          </g>
        ))}
        {ticksOf(0, seconds)
          .filter((at) => at <= seconds)
          .map((at) => (
            <text
              key={at}
              x={x(at)}
              y={height - 6}
              text-anchor={at === 0 ? "start" : at > 0.95 * seconds ? "end" : "middle"}
            >
              {`${formatNumber(at)} s`}
            </text>
          ))}
        {runs.map(({ subject, points }, at) => (
          <path
            key={at}
            style={{ stroke: colours[subject]?.colour }}
            d={pathOf(points.values, (place) => x((place + 0.5) * points.stepSeconds), y)}
          />
        ))}
      </svg>
    </figure>
  );
}
