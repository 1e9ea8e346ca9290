/** The order of series in a block: grouped by metric, because such series are similar and are queried together. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LabelIndex } from "./index/index.ts";

const perSlice = 10_000;

export async function byMetric(
  index: LabelIndex,
  has: (ref: number) => boolean,
): Promise<Uint32Array> {
  const nameId = index.symbols.find("__name__") ?? -1;
  const groups = new Map<number, number[]>();
  let count = 0;
  for (let ref = 0; ref < index.table.end; ref++) {
    if (ref % perSlice === perSlice - 1) await nextTurn();
    if (!index.table.isAlive(ref) || !has(ref)) continue;
    const metric = index.valueOf(ref, nameId) ?? -1;
    const group = groups.get(metric);
    if (group === undefined) groups.set(metric, [ref]);
    else group.push(ref);
    count++;
  }
  const order = new Uint32Array(count);
  let at = 0;
  for (const group of groups.values()) {
    order.set(group, at);
    at += group.length;
  }
  return order;
}
