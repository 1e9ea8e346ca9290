/** A text summary of a chart, for screen readers. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../format/readable.ts";
import type { ChartData, ChartLimit } from "./model.ts";
import { type StatisticsOptions, statisticsOf } from "./statistics.ts";

const MOST_LINES = 8;

export function describeChart(
  { title, unit, rangeText }: { title: string; unit: Unit; rangeText: string },
  { lines }: ChartData,
  options: StatisticsOptions,
  limits: readonly ChartLimit[] = [],
): string {
  const shown = lines.slice(0, MOST_LINES).map((line) => {
    const { label } = line;
    const found = statisticsOf(line, options);
    if (found === undefined) return `${label}: no reading`;
    const { newest, min, max, mean, gaps } = found;
    const say = (value: number): string => formatReadable(value, unit);
    const open = gaps === 0 ? "" : `, ${gaps === 1 ? "one gap" : `${gaps} gaps`}`;
    return `${label}: ${options.isPast ? "last" : "now"} ${newest === undefined ? "not available" : say(newest)}, minimum ${say(min)}, maximum ${say(max)}, average ${say(mean)}${open}`;
  });
  const more = lines.length > MOST_LINES ? [`and ${lines.length - MOST_LINES} more lines`] : [];
  const held = limits.map(({ label, value }) => `${label} at ${formatReadable(value, unit)}`);
  const parts = [...shown, ...more, ...held];
  return `${title}, ${rangeText}. ${parts.length === 0 ? "No data" : parts.join(". ")}.`;
}
