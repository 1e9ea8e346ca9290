/** The frame that timelines and heat strips share with charts: left edge, time axis, cursor, and drag to zoom. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useWidth } from "../ui/use-size.ts";
import type { TimeWindow } from "../view-state/range.ts";
import { zoomTo } from "../view-state/time.ts";
import { timeTexts } from "./axes.ts";
import { cursor } from "./cursor.ts";
import { axisPx, RIGHT_PX } from "./edges.ts";
import { ticksOf } from "./ticks.ts";

const PIXELS_PER_TICK = 90;
const LEAST_DRAG_PX = 5;
const HALF_TEXT_PX = 28;

export interface TimeFrameProps {
  readonly window: TimeWindow;
  readonly children: ComponentChildren;
}

export function TimeFrame({ window, children }: TimeFrameProps) {
  const { fromMs, toMs } = window;
  const frame = useRef<HTMLDivElement>(null);
  const [me] = useState(() => ({}));
  const [drag, setDrag] = useState<{ from: number; to: number } | undefined>(undefined);
  const widthPx = Math.max(1, useWidth(frame) - axisPx() - RIGHT_PX);
  const shareAt = (event: PointerEvent): number => {
    const left = frame.current?.getBoundingClientRect().left ?? 0;
    return Math.min(1, Math.max(0, (event.clientX - left - axisPx()) / widthPx));
  };
  const timeOf = (share: number): number => fromMs + share * (toMs - fromMs);
  const ticks = ticksOf(fromMs, toMs, widthPx / PIXELS_PER_TICK);
  const texts = timeTexts(ticks.atMs, ticks.everyMs);
  const pointed = cursor.value?.ms;
  const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;
  return (
    <div
      class="time-frame"
      ref={frame}
      onPointerMove={(event) => {
        const share = shareAt(event);
        cursor.value = { ms: timeOf(share), from: me };
        if (drag !== undefined) setDrag({ from: drag.from, to: share });
      }}
      onPointerLeave={() => {
        cursor.value = undefined;
        setDrag(undefined);
      }}
      onPointerDown={(event) => {
        if (event.button === 0) setDrag({ from: shareAt(event), to: shareAt(event) });
      }}
      onPointerUp={() => {
        if (drag !== undefined && Math.abs(drag.to - drag.from) * widthPx >= LEAST_DRAG_PX)
          zoomTo(timeOf(drag.from), timeOf(drag.to));
        setDrag(undefined);
      }}
    >
      {children}
      <div class="over" aria-hidden="true">
        {pointed !== undefined && pointed >= fromMs && pointed <= toMs && (
          <i class="line" style={{ left: percent((pointed - fromMs) / (toMs - fromMs)) }} />
        )}
        {drag !== undefined && (
          <i
            class="select"
            style={{
              left: percent(Math.min(drag.from, drag.to)),
              width: percent(Math.abs(drag.to - drag.from)),
            }}
          />
        )}
      </div>
      <div class="time-axis" aria-hidden="true">
        {ticks.atMs.map((ms, at) => (
          <span
            key={ms}
            // A label centred on a tick near the right edge would be cut off.
            data-end={((toMs - ms) / (toMs - fromMs)) * widthPx < HALF_TEXT_PX ? "" : undefined}
            style={{ left: percent((ms - fromMs) / (toMs - fromMs)) }}
          >
            {texts[at]}
          </span>
        ))}
      </div>
    </div>
  );
}
