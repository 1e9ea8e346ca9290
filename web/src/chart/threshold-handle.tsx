/** A movable level on a chart: dragged by pointer, or moved by arrow keys as a slider. */
import { useRef, useState } from "preact/hooks";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../format/readable.ts";
import type { Plot } from "./plot.ts";

export interface ChartThreshold {
  readonly value: number;
  readonly label: string;
  /** `done`: the pointer was released, or a key was pressed. */
  readonly onMove: (value: number, done: boolean) => void;
}

export interface ThresholdHandleProps extends ChartThreshold {
  readonly unit: Unit;
  readonly plot: () => Plot | undefined;
}

export function ThresholdHandle({ value, label, onMove, unit, plot }: ThresholdHandleProps) {
  const area = useRef<HTMLDivElement>(null);
  const [isDragged, setDragged] = useState(false);
  const drawn = plot();
  if (drawn === undefined) return null;
  const { min, max } = drawn.valueEdges;
  const step = tidyStep(max - min);
  const follow = (event: PointerEvent, done: boolean): void => {
    const top = area.current?.getBoundingClientRect().top ?? 0;
    const pointed = drawn.valueAt(event.clientY - top);
    onMove(Number((Math.round(pointed / step) * step).toPrecision(12)), done);
  };
  const press = (event: KeyboardEvent): void => {
    const steps = {
      ArrowUp: 1,
      ArrowRight: 1,
      ArrowDown: -1,
      ArrowLeft: -1,
      PageUp: 10,
      PageDown: -10,
    }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onMove(Number((value + steps * step).toPrecision(12)), true);
  };
  return (
    <div class="threshold" ref={area}>
      <div
        class="threshold-line"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-orientation="vertical"
        aria-valuemin={Math.min(min, value)}
        aria-valuemax={Math.max(max, value)}
        aria-valuenow={value}
        aria-valuetext={formatReadable(value, unit)}
        data-dragged={isDragged ? "" : undefined}
        style={{ top: `${drawn.topOf(value)}px` }}
        onKeyDown={press}
        onPointerDown={(event) => {
          event.preventDefault();
          event.stopPropagation();
          event.currentTarget.setPointerCapture(event.pointerId);
          event.currentTarget.focus();
          setDragged(true);
        }}
        onPointerMove={(event) => {
          if (isDragged) follow(event, false);
        }}
        onPointerUp={(event) => {
          if (!isDragged) return;
          setDragged(false);
          follow(event, true);
        }}
        onPointerCancel={() => setDragged(false)}
      >
        <span aria-hidden="true">{formatReadable(value, unit)}</span>
      </div>
    </div>
  );
}

/** About a hundredth of the axis, as a round number. */
function tidyStep(range: number): number {
  if (!(range > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(range / 100));
  return [1, 2, 5, 10].map((times) => times * power).find((one) => range / one <= 100) ?? power;
}
