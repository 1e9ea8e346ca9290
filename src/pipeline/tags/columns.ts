/**
 * User-defined columns, computed from other columns of the same GPU and timestamp. Each adds one series per GPU, absent
 * if an input is absent.
 */
import { GpulseError } from "../../base/error.ts";
import { findColumn } from "../../model/aliases.ts";
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import { entry } from "../../model/catalogue/define.ts";
import { roundTo } from "../../model/frame.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery, Transform } from "../sink.ts";
import { type NumericExpression, parseQuantity } from "./expression.ts";
import { type GpuRow, LayoutRows, readColumn } from "./rows.ts";

interface OwnColumn {
  readonly metric: MetricEntry;
  readonly quantity: NumericExpression;
}

interface Plan {
  readonly layout: Layout;
  /** Each GPU's first slot for user-defined columns; the others follow. */
  readonly rows: readonly (readonly [row: GpuRow, first: number])[];
}

/** Maps a name to its expression. An expression may use the columns defined before it. */
export function createColumns(given: Readonly<Record<string, string>>): Transform {
  const own: OwnColumn[] = [];
  const names = new Set<string>();
  for (const [name, text] of Object.entries(given)) {
    if (!/^[a-z_][a-z0-9_]*$/.test(name))
      throw new GpulseError(
        "EXPRESSION",
        `"${name}" is not a valid column name: use lower-case letters, digits and underscores.`,
      );
    if (findColumn(name) !== undefined || findMetric(name) !== undefined)
      throw new GpulseError(
        "EXPRESSION",
        `There is a column "${name}" already: choose another name.`,
      );
    own.push({ metric: ownMetric(name, text), quantity: parseQuantity(text, names) });
    names.add(name);
  }
  const rows = new LayoutRows();
  const plans = new WeakMap<Layout, Plan>();
  return (delivery: Delivery): Delivery => {
    const { frame } = delivery;
    let plan = plans.get(frame.layout);
    if (plan === undefined) {
      plan = planOf(frame.layout, rows.of(frame.layout), own);
      plans.set(frame.layout, plan);
    }
    if (plan.rows.length === 0) return delivery;
    const values = new Float64Array(plan.layout.series.length);
    const states = new Uint8Array(plan.layout.series.length).fill(presence.unsupported);
    values.set(frame.values);
    states.set(frame.presence);
    for (const [row, first] of plan.rows) {
      const made = new Map<string, number>();
      own.forEach(({ metric, quantity }, index) => {
        const value = quantity.value(
          (column) => made.get(column) ?? readColumn(frame, row, column),
        );
        if (value === undefined) return;
        made.set(metric.name, value);
        values[first + index] = roundTo(value, metric.resolution);
        states[first + index] = presence.present;
      });
    }
    return {
      ...delivery,
      frame: { timeMs: frame.timeMs, layout: plan.layout, values, presence: states },
    };
  };
}

/** Accepts any number, because only the user knows the plausible range. */
function ownMetric(name: string, text: string): MetricEntry {
  return entry("device", name, {
    help: `Reckoned in the stream: ${text.trim()}`,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
    resolution: 1e-6,
  });
}

function planOf(layout: Layout, gpus: readonly GpuRow[], own: readonly OwnColumn[]): Plan {
  const series: Series[] = [...layout.series];
  const rows = gpus.map((row) => {
    const first = series.length;
    for (const { metric } of own) series.push({ metric, suffix: "", labels: row.identity });
    return [row, first] as const;
  });
  return { layout: { series }, rows };
}
