/** Aggregates of one column over one stretch of time; consecutive panes can be joined into a longer one. */

export const aggregates = ["min", "max", "avg", "last", "count", "sum"] as const;
export type WindowAggregate = (typeof aggregates)[number];

export interface Pane {
  min: number;
  max: number;
  sum: number;
  count: number;
  last: number;
}

export const emptyPane = (): Pane => ({ min: Infinity, max: -Infinity, sum: 0, count: 0, last: 0 });

export function addValue(pane: Pane, value: number): void {
  if (value < pane.min) pane.min = value;
  if (value > pane.max) pane.max = value;
  pane.sum += value;
  pane.count++;
  pane.last = value;
}

/** @param panes in time order */
export function joinPanes(panes: Iterable<Pane | undefined>): Pane {
  const whole = emptyPane();
  for (const pane of panes) {
    if (pane === undefined || pane.count === 0) continue;
    whole.min = Math.min(whole.min, pane.min);
    whole.max = Math.max(whole.max, pane.max);
    whole.sum += pane.sum;
    whole.count += pane.count;
    whole.last = pane.last;
  }
  return whole;
}

/** Returns undefined if there was no value, except for `count`, which is then 0. */
export function aggregateOf(pane: Pane, aggregate: WindowAggregate): number | undefined {
  if (aggregate === "count") return pane.count;
  if (pane.count === 0) return undefined;
  return aggregate === "avg" ? pane.sum / pane.count : pane[aggregate];
}
