/** A small chart of one changed series: its history, the range, the band of its peers, and the departure. */
import type { SeriesChange } from "../../../src/view/changes/report.ts";
import { distanceOf, numbersOf } from "./change-text.ts";
import { bandPath, linePath, scaleFor } from "./small-path.ts";

const [WIDTH, HEIGHT, RIBBON] = [260, 52, 4];

export interface SmallChartProps {
  readonly change: SeriesChange;
  readonly fromMs: number;
  readonly toMs: number;
}

export function SmallChart({ change, fromMs, toMs }: SmallChartProps) {
  const { startMs, values, peerLow, peerHigh, anomalies } = change.chart;
  const scale = scaleFor([values, peerLow, peerHigh], WIDTH, HEIGHT);
  const x = (ms: number): number => ((ms - startMs) / (toMs - startMs)) * WIDTH;
  const band = bandPath(peerLow, peerHigh, scale);
  return (
    <svg
      class="small-chart"
      viewBox={`0 -3 ${WIDTH} ${HEIGHT + RIBBON + 8}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${change.title}: ${numbersOf(change)}. ${distanceOf(change)}`}
    >
      <rect class="range" x={x(fromMs)} y={-3} width={WIDTH - x(fromMs)} height={HEIGHT + 6} />
      {band !== "" && <path class="band" d={band} />}
      <path class="line" d={linePath(values, scale)} />
      {anomalies.map((span) => (
        <rect
          key={span.fromMs}
          class="ribbon"
          x={x(span.fromMs)}
          y={HEIGHT + 3}
          width={Math.max(1.5, x(span.toMs) - x(span.fromMs))}
          height={RIBBON}
        />
      ))}
    </svg>
  );
}
