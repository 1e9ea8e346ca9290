/** Recorded runs over their own time: a colour per subject, a line per run. */
import type { Comparison } from "../../../../src/runs/compare/compare.ts";
import type { Curve } from "../../../../src/runs/compare/curves.ts";
import type { CompareUnit } from "../../../../src/runs/compare/metrics.ts";
import { runEntry } from "../../chart/chart-menu.tsx";
import { resolveColour } from "../../chart/colour.ts";
import { fileName, save } from "../../chart/export.ts";
import { pictureOf } from "../../chart/picture.ts";
import { copyToClipboard } from "../../ui/copy.tsx";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import type { Colour } from "./difference-table.tsx";
import {
  plotEdge,
  plotHeight,
  plotWidth,
  runCsvOf,
  runGpus,
  type RunPlot,
  runPlotOf,
} from "./run-plot.ts";

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
              {...{ comparison, curve, colours }}
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
  readonly comparison: Comparison;
  readonly title: string;
  readonly unit: CompareUnit;
  readonly curve: Curve;
  readonly colours: readonly Colour[];
}

function RunChart({ comparison, title, unit, curve, colours }: RunChartProps) {
  const plot = runPlotOf(title, unit, curve);
  const { caption, ticks, times, lines } = plot;
  const fullTitle = `${title}: ${comparison.subjects.map(({ name }) => name).join(", ")}`;
  const startMs = Math.min(
    ...comparison.subjects.flatMap(({ runs }) => runs.map((run) => run.startMs)),
  );
  const name = (ending: string): string => fileName(fullTitle, { fromMs: startMs }, ending);
  // Explore, alerts and boards read the hub's series, which a recorded run is none of.
  const items: readonly MenuItem[] = [
    {
      label: "Copy link",
      run: () =>
        void copyToClipboard(location.href, "The link is in the clipboard. It shows these runs."),
    },
    {
      label: "PNG picture",
      run: () =>
        void runEntry(async () => {
          const rows = comparison.subjects.map((subject, at) => ({
            label: subject.name,
            numbers: `${subject.runs.length} ${subject.runs.length === 1 ? "run" : "runs"}`,
            colour: colours[at]?.colour ?? "var(--text)",
            dash: [],
          }));
          const text = { title: fullTitle, subtitle: runGpus(comparison), rows };
          const size = { width: plotWidth, height: plotHeight };
          save(await pictureOf(text, drawn(plot, colours), size), name("png"));
        }),
    },
    {
      label: "CSV table",
      run: () =>
        save(
          new Blob([runCsvOf({ title: fullTitle, unit }, comparison, curve)], { type: "text/csv" }),
          name("csv"),
        ),
    },
  ];
  return (
    <figure>
      <figcaption>
        {caption}
        <span class="spacer" />
        <Menu label={`Menu of ${title}`} class="quiet chart-more" items={items}>
          <span aria-hidden="true">⋯</span>
        </Menu>
      </figcaption>
      <svg viewBox={`0 0 ${plotWidth} ${plotHeight}`} role="img" aria-label={caption}>
        {ticks.map(({ y, text }) => (
          <g key={text}>
            <line x1={plotEdge.left} x2={plotWidth - plotEdge.right} y1={y} y2={y} />
            <text x={plotEdge.left - 6} y={y + 4} text-anchor="end">
              {text}
            </text>
          </g>
        ))}
        {times.map(({ x, text, anchor }) => (
          <text key={text} x={x} y={plotHeight - 6} text-anchor={anchor}>
            {text}
          </text>
        ))}
        {lines.map(({ subject, path }, at) => (
          <path key={at} style={{ stroke: colours[subject]?.colour }} d={path} />
        ))}
      </svg>
    </figure>
  );
}

/** The same chart on a canvas, for a picture. */
function drawn({ ticks, times, lines }: RunPlot, colours: readonly Colour[]): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const scale = Math.max(2, devicePixelRatio);
  [canvas.width, canvas.height] = [plotWidth * scale, plotHeight * scale];
  const paint = canvas.getContext("2d");
  if (paint === null) throw new Error("This browser has no canvas.");
  const colour = (css: string): string => resolveColour(css, document.body);
  paint.scale(scale, scale);
  paint.font = "11px system-ui, sans-serif";
  paint.fillStyle = colour("var(--muted)");
  paint.strokeStyle = colour("var(--line)");
  for (const { y, text } of ticks) {
    paint.textAlign = "end";
    paint.fillText(text, plotEdge.left - 6, y + 4);
    paint.stroke(new Path2D(`M${plotEdge.left} ${y}H${plotWidth - plotEdge.right}`));
  }
  for (const { x, text, anchor } of times) {
    paint.textAlign = anchor === "middle" ? "center" : anchor;
    paint.fillText(text, x, plotHeight - 6);
  }
  paint.lineWidth = 1.25;
  paint.lineCap = "round";
  for (const { subject, path } of lines) {
    paint.strokeStyle = colour(colours[subject]?.colour ?? "var(--text)");
    paint.stroke(new Path2D(path));
  }
  return canvas;
}
