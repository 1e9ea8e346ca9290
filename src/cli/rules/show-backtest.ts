/** Formats a backtest as a table, and as JSON with units in the field names. */
import { countOf } from "../command/quantity.ts";
import { formatDuration } from "../../config/duration.ts";
import { printFloat } from "../../query/number.ts";
import { alignColumns } from "../table.ts";
import type { RuleBacktest } from "./backtest.ts";

const maxShownFirings = 200;

export function formatBacktests(done: readonly RuleBacktest[]): string {
  return done.map(formatBacktest).join("\n");
}

function formatBacktest({ rule, group, result }: RuleBacktest): string {
  const { firings, totals, startMs, endMs, stepMs } = result;
  const held = rule.forMs === 0 ? "" : `, for ${formatDuration(rule.forMs)}`;
  const head = `${rule.name} (group ${group}${held}): ${time(startMs)} to ${time(endMs)}, every ${formatDuration(stepMs)}\n`;
  if (totals.firings === 0) return `${head}  would not have fired${pending(totals.pendingOnly)}.\n`;
  const rows = firings
    .slice(0, maxShownFirings)
    .map(({ startMs: from, endMs: to, durationMs, labels, peak }) => [
      `  ${time(from)}`,
      to === undefined ? "still fires" : time(to),
      formatDuration(durationMs),
      number(peak),
      labels
        .filter(([name]) => name !== "alertname")
        .map(([name, value]) => `${name}=${value}`)
        .join(" "),
    ]);
  const more = totals.firings - rows.length;
  return (
    head +
    alignColumns([["  START", "END", "LASTED", "PEAK", "LABELS"], ...rows]) +
    (more > 0 ? `  … and ${more} more (--json prints the first 10,000)\n` : "") +
    `  ${countOf(totals.firings, "firing")} of ${countOf(totals.labelSets, "label set")}, ${formatDuration(totals.firingMs)} in all, the longest ${formatDuration(totals.longestMs)}${pending(totals.pendingOnly)}.\n`
  );
}

const pending = (count: number): string =>
  count === 0 ? "" : `; pending ${countOf(count, "time")} without firing`;

const time = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

const number = (value: number): string =>
  Number.isInteger(value) ? String(value) : printFloat(Number(value.toPrecision(6)));

export function backtestJson(done: readonly RuleBacktest[]): unknown {
  return done.map(({ rule, group, result }) => ({
    rule: rule.name,
    group,
    expr: rule.expr,
    forSeconds: rule.forMs / 1_000,
    keepFiringForSeconds: rule.keepFiringForMs / 1_000,
    start: new Date(result.startMs).toISOString(),
    end: new Date(result.endMs).toISOString(),
    stepSeconds: result.stepMs / 1_000,
    totals: {
      firings: result.totals.firings,
      labelSets: result.totals.labelSets,
      firingSeconds: result.totals.firingMs / 1_000,
      longestSeconds: result.totals.longestMs / 1_000,
      pendingOnly: result.totals.pendingOnly,
    },
    firings: result.firings.map((firing) => ({
      labels: Object.fromEntries(firing.labels),
      annotations: firing.annotations,
      activeAt: new Date(firing.activeAtMs).toISOString(),
      start: new Date(firing.startMs).toISOString(),
      end: firing.endMs === undefined ? null : new Date(firing.endMs).toISOString(),
      durationSeconds: firing.durationMs / 1_000,
      // JSON has no infinity.
      peak: Number.isFinite(firing.peak) ? firing.peak : printFloat(firing.peak),
    })),
  }));
}
