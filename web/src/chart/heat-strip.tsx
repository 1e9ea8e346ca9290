/** Rows of time in shades: one line per GPU where a hundred curves would be a scribble. An instant nobody read is blank. */
import { useEffect, useId, useRef } from "preact/hooks";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../format/readable.ts";
import { lengthOf } from "../query/columns.ts";
import { dark } from "../view-state/preferences.ts";
import { resolveColour } from "./colour.ts";
import { cursor } from "./cursor.ts";
import type { ChartData, ColourFamily, ChartLine } from "./model.ts";
import { statisticsOf } from "./statistics.ts";
import { TimeFrame } from "./time-frame.tsx";

const SHADES = 20;

export interface HeatStripProps {
  readonly title: string;
  /** One with a scale in tokens.css: utilization, memory, power or temperature. */
  readonly family: ColourFamily;
  readonly unit: Unit;
  readonly data: ChartData;
  /** The values of the palest and the strongest shade. */
  readonly min: number;
  readonly max: number;
}

export function HeatStrip({ title, family, unit, data, min, max }: HeatStripProps) {
  const id = useId();
  const at = cursor.value === undefined ? undefined : placeOf(cursor.value.ms, data);
  return (
    <figure class="chart heat-strip" data-family={family} aria-labelledby={id}>
      <figcaption>
        <h3 id={id}>{title}</h3>
        <span class="spacer" />
        <span class="unit">{formatReadable(min, unit)}</span>
        <span class="ramp" aria-hidden="true">
          {[0, 20, 40, 60, 80, 100].map((share) => (
            <i key={share} style={{ "--share": `${share}%` }} />
          ))}
        </span>
        <span class="unit">{formatReadable(max, unit)}</span>
      </figcaption>
      <TimeFrame window={data.window}>
        <ul class="lanes">
          {data.lines.map((line) => (
            <Strip key={line.key} {...{ line, unit, data, min, max, at }} />
          ))}
        </ul>
      </TimeFrame>
    </figure>
  );
}

interface StripProps {
  readonly line: ChartLine;
  readonly unit: Unit;
  readonly data: ChartData;
  readonly min: number;
  readonly max: number;
  readonly at: number | undefined;
}

function Strip({ line, unit, data, min, max, at }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const isDark = dark();
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, line, data, min, max);
  }, [line, data, min, max, isDark]);
  const pointed = at === undefined ? undefined : line.values[at];
  const { fromMs, toMs } = data.window;
  const span = toMs - fromMs;
  return (
    <li>
      <span class="lane-label" data-tip={line.label}>
        {line.label}
      </span>
      <span
        class="lane"
        data-tip={
          at === undefined
            ? undefined
            : `${line.label}: ${pointed === undefined || Number.isNaN(pointed) ? "n/a" : formatReadable(pointed, unit)}`
        }
      >
        <canvas
          ref={canvas}
          height={1}
          role="img"
          aria-label={spoken(line, unit)}
          style={{
            left: `${((data.grid.startMs - data.grid.stepMs / 2 - fromMs) / span) * 100}%`,
            width: `${((lengthOf(data.grid) * data.grid.stepMs) / span) * 100}%`,
          }}
        />
      </span>
    </li>
  );
}

/** One pixel per instant; the browser stretches it. */
function draw(
  canvas: HTMLCanvasElement,
  { values }: ChartLine,
  { grid }: ChartData,
  min: number,
  max: number,
): void {
  const length = lengthOf(grid);
  const surface = canvas;
  surface.width = length;
  const paint = surface.getContext("2d");
  const shades = Array.from({ length: SHADES + 1 }, (_, step) =>
    resolveColour(
      `color-mix(in oklab, var(--heat-high) ${(step * 100) / SHADES}%, var(--heat-low))`,
      canvas.parentElement ?? canvas,
    ),
  );
  for (let at = 0; at < length; at += 1) {
    const value = values[at] ?? Number.NaN;
    if (paint === null || Number.isNaN(value)) continue;
    const share = Math.min(1, Math.max(0, (value - min) / (max - min)));
    paint.fillStyle = shades[Math.round(share * SHADES)] ?? "";
    paint.fillRect(at, 0, 1, 1);
  }
}

const placeOf = (ms: number, { grid }: ChartData): number =>
  Math.round((ms - grid.startMs) / grid.stepMs);

function spoken({ label, values }: ChartLine, unit: Unit): string {
  const found = statisticsOf(values);
  if (found === undefined) return `${label}: no reading`;
  const { min, max, mean } = found;
  return `${label}: minimum ${formatReadable(min, unit)}, maximum ${formatReadable(max, unit)}, average ${formatReadable(mean, unit)}`;
}
