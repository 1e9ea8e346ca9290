/**
 * Hundreds of cells on one canvas: drawing two thousand takes a millisecond, while elements would take the whole frame. A real
 * button lies over the cell under the pointer or the keyboard cursor, so that each cell has a name and can be pressed.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { resolveColour } from "../../chart/colour.ts";
import type { Gpu } from "../../../../src/view/gpu.ts";
import { useWidth } from "../../ui/use-size.ts";
import { dark } from "../../view-state/preferences.ts";
import type { HeatScale } from "./heat.ts";
import { heatShade, describeCell } from "./heat-cell.ts";
import { cursor, selected } from "./view.ts";

const STEP_PERCENT = 5;

interface HeatCanvasProps {
  readonly gpus: readonly Gpu[];
  readonly scale: HeatScale;
  readonly cellPx: number;
  readonly label: string;
}

export function HeatCanvas({ gpus, scale, cellPx, label }: HeatCanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useRef<{ readonly key: string; readonly of: Colours } | undefined>(undefined);
  const widthPx = useWidth(box);
  const [at, setAt] = useState(0);
  const [wantsFocus, setWantsFocus] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const perRow = Math.max(1, Math.floor(widthPx / cellPx));
  const rows = Math.ceil(gpus.length / perRow);
  useLayoutEffect(() => {
    if (canvas.current === null || widthPx === 0) return;
    const key = `${scale.family} ${dark()}`;
    if (colours.current?.key !== key) colours.current = { key, of: coloursOf(canvas.current) };
    draw(canvas.current, { gpus, scale, cellPx, perRow, rows, colours: colours.current.of });
  });
  useEffect(() => {
    if (wantsFocus) button.current?.focus({ preventScroll: true });
    setWantsFocus(false);
  }, [wantsFocus, at]);
  const pointed = Math.min(at, gpus.length - 1);
  const gpu = gpus[pointed];
  const says = gpu === undefined ? "" : describeCell(gpu, scale);
  const walk = (event: KeyboardEvent): void => {
    const by = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: perRow,
      ArrowUp: -perRow,
      Home: -gpus.length,
      End: gpus.length,
    }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    setAt(Math.min(gpus.length - 1, Math.max(0, pointed + by)));
    setWantsFocus(true);
  };
  return (
    <div
      class="heat-canvas"
      role="group"
      aria-label={label}
      ref={box}
      style={{ height: `${rows * cellPx}px` }}
      onKeyDown={walk}
      onPointerMove={(event) => {
        const edge = event.currentTarget.getBoundingClientRect();
        const column = Math.floor((event.clientX - edge.left) / cellPx);
        const next = Math.floor((event.clientY - edge.top) / cellPx) * perRow + column;
        if (column < perRow && next >= 0 && next < gpus.length && next !== at) setAt(next);
      }}
    >
      <canvas ref={canvas} aria-hidden="true" />
      {gpu !== undefined && (
        <button
          key={gpu.id}
          ref={button}
          type="button"
          class="cell-at"
          style={{
            left: `${(pointed % perRow) * cellPx}px`,
            top: `${Math.floor(pointed / perRow) * cellPx}px`,
            width: `${cellPx}px`,
            height: `${cellPx}px`,
          }}
          aria-label={says}
          data-tip={says}
          onClick={() => {
            cursor.value = gpu.id;
            selected.value = gpu.id;
          }}
        />
      )}
    </div>
  );
}

interface Colours {
  /** One per step of the scale. */
  readonly shades: readonly string[];
  readonly line: string;
  readonly bad: string;
}

function coloursOf(within: HTMLElement): Colours {
  const host = within.parentElement ?? within;
  const shades = Array.from({ length: 100 / STEP_PERCENT + 1 }, (_, step) =>
    resolveColour(
      `color-mix(in oklab, var(--heat-high) ${step * STEP_PERCENT}%, var(--heat-low))`,
      host,
    ),
  );
  return {
    shades,
    line: resolveColour("var(--line)", host),
    bad: resolveColour("var(--bad)", host),
  };
}

interface Picture {
  readonly gpus: readonly Gpu[];
  readonly scale: HeatScale;
  readonly cellPx: number;
  readonly perRow: number;
  readonly rows: number;
  readonly colours: Colours;
}

function draw(surface: HTMLCanvasElement, picture: Picture): void {
  const { gpus, scale, cellPx, perRow, rows, colours } = picture;
  const paint = surface.getContext("2d");
  if (paint === null) return;
  const ratio = devicePixelRatio;
  const [width, height] = [Math.ceil(perRow * cellPx * ratio), Math.ceil(rows * cellPx * ratio)];
  if (surface.width !== width || surface.height !== height)
    Object.assign(surface, { width, height });
  surface.style.width = `${perRow * cellPx}px`;
  surface.style.height = `${rows * cellPx}px`;
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.clearRect(0, 0, width, height);
  const side = cellPx - (cellPx > 10 ? 2 : 1);
  gpus.forEach((gpu, at) => {
    const [x, y] = [(at % perRow) * cellPx, Math.floor(at / perRow) * cellPx];
    const { kind, share } = heatShade(gpu, scale, STEP_PERCENT);
    if (kind === "reported") {
      paint.fillStyle = colours.shades[(share ?? 0) / STEP_PERCENT] ?? colours.line;
      paint.fillRect(x, y, side, side);
      return;
    }
    paint.strokeStyle = kind === "lost" ? colours.bad : colours.line;
    paint.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    if (kind === "lost") hatch(paint, x, y, side);
  });
}

function hatch(paint: CanvasRenderingContext2D, x: number, y: number, side: number): void {
  paint.beginPath();
  for (let shift = -side; shift < side; shift += 3) {
    const [from, to] = [Math.max(0, shift), Math.min(side, side + shift)];
    paint.moveTo(x + from, y + side - (from - shift));
    paint.lineTo(x + to, y + side - (to - shift));
  }
  paint.stroke();
}
