/** Exemplars as dots at their time and value. A dot links to its trace if the hub has a trace URL. */
import { formatInstant, type TimeWindow } from "../view-state/range.ts";
import type { ChartExemplar } from "./model.ts";

export interface ExemplarDotsProps {
  readonly exemplars: readonly ChartExemplar[];
  readonly window: TimeWindow;
  /** Pixels from the plot's upper edge; undefined before the plot is drawn. */
  readonly topOf: (value: number) => number | undefined;
}

export function ExemplarDots({ exemplars, window, topOf }: ExemplarDotsProps) {
  const { fromMs, toMs } = window;
  const dots = exemplars.flatMap((one) => {
    const top = topOf(one.value);
    const isInside = one.timeMs >= fromMs && one.timeMs <= toMs;
    return top === undefined || !isInside ? [] : [{ ...one, top }];
  });
  if (dots.length === 0) return null;
  return (
    <ul class="exemplars" aria-label="Exemplars">
      {dots.map(({ timeMs, text, href, top }, at) => {
        const says = `${formatInstant(timeMs)}\n${text}`;
        return (
          <li
            key={`${timeMs} ${at}`}
            style={{ left: `${((timeMs - fromMs) / (toMs - fromMs)) * 100}%`, top: `${top}px` }}
            data-tip={says}
          >
            {href === undefined ? (
              <span class="unseen">{says}</span>
            ) : (
              <a href={href} target="_blank" rel="noopener noreferrer">
                <span class="unseen">{`Trace of ${says}`}</span>
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}
