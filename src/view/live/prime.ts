/** Reads the page's curves from the store, so that a restart does not empty them. */
import { deviceKey } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { Matcher, Queryable } from "../../model/select.ts";
import { columnSpecs } from "./columns.ts";
import type { HistoryPoint } from "./history.ts";
import { type HistoryKey, historyKeys } from "./protocol.ts";

/** By `deviceKey`, by second. */
export type PastPoints = ReadonlyMap<string, ReadonlyMap<number, HistoryPoint>>;

export async function readPast(
  store: Queryable,
  fromMs: number,
  toMs: number,
  ownHost: string,
): Promise<PastPoints> {
  const past = new Map<string, Map<number, Partial<Record<HistoryKey, number>>>>();
  for (const key of historyKeys) {
    const { metric, labels } = columnSpecs[key];
    const matchers: Matcher[] = [
      { name: "__name__", op: "=", value: metric.name },
      ...Object.entries(labels).map(([name, value]): Matcher => ({ name, op: "=", value })),
    ];
    for (const { labels: found, column } of await store.select(matchers, fromMs, toMs)) {
      const uuid = labelValue(found, "uuid");
      if (uuid === undefined) continue;
      const device = deviceKey(labelValue(found, "host") ?? ownHost, uuid);
      const points = past.get(device) ?? new Map<number, Partial<Record<HistoryKey, number>>>();
      past.set(device, points);
      column.times.forEach((timeMs, at) => {
        if (column.stale?.[at] === 1) return;
        const second = Math.floor(timeMs / 1_000);
        points.set(second, { ...points.get(second), [key]: column.values[at] ?? 0 });
      });
    }
  }
  return past;
}
