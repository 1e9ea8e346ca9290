/** Self-metrics of the hub's store and receivers, as a frame beside the collector's own. */
import { self } from "../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { labelSet, noLabels } from "../model/labels.ts";
import { LayoutBuilder } from "../model/layout.ts";
import type { Store } from "../storage/embedded/store.ts";
import type { ApiContext } from "./api/context.ts";
import { receiverOutcomes, receiverNames } from "./receive/receiver-counts.ts";

const builder = new LayoutBuilder();
const receivedSlots = receiverNames.flatMap((way) =>
  receiverOutcomes[way].map((outcome) => ({
    way,
    outcome,
    slot: builder.add(self.received, labelSet({ way, outcome })),
  })),
);
const seriesSlot = builder.add(self.storeSeries, noLabels);
const seriesLimitSlot = builder.add(self.storeSeriesLimit, noLabels);
const queryBudgetSlot = builder.add(self.queryMemoryLimit, noLabels);
const queryReservedSlot = builder.add(self.queryMemoryReserved, noLabels);
const queryTooLargeSlot = builder.add(self.queryRefused, labelSet({ reason: "too_large" }));
const queryBusySlot = builder.add(self.queryRefused, labelSet({ reason: "busy" }));
const headSlot = builder.add(self.storeHeadSamples, noLabels);
const bytesSlot = builder.add(self.storeBytes, noLabels);
const lostSlot = builder.add(self.storeLost, noLabels);
const unreadableSlot = builder.add(self.storeUnreadable, noLabels);
const lostSamplesSlot = builder.add(self.storeLostSamples, noLabels);
const layout = builder.build();

/** Without an embedded store, its metrics are absent. */
export function hubFrame(
  store: Store | undefined,
  { received, queryMemory }: Pick<ApiContext, "received" | "queryMemory">,
  timeMs: number,
): Frame {
  const writer = new FrameWriter(layout, timeMs);
  for (const { way, outcome, slot } of receivedSlots)
    writer.set(slot, received.count(way, outcome));
  const set = (slot: number, value: number | undefined): void =>
    value === undefined ? writer.absent(slot, "unsupported") : writer.set(slot, value);
  set(queryBudgetSlot, queryMemory?.limits.totalBytes);
  set(queryReservedSlot, queryMemory?.bytes);
  set(queryTooLargeSlot, queryMemory?.refused.tooLarge);
  set(queryBusySlot, queryMemory?.refused.busy);
  const stats = store?.stats();
  set(seriesSlot, stats?.series);
  set(seriesLimitSlot, stats?.maxSeries);
  set(headSlot, stats?.headSamples);
  set(
    bytesSlot,
    stats === undefined ? undefined : stats.blockBytes + stats.removedBytes + stats.logBytes,
  );
  set(lostSlot, stats === undefined ? undefined : stats.lost.length - stats.unreadable);
  set(unreadableSlot, stats?.unreadable);
  set(lostSamplesSlot, stats?.lostSamples);
  return writer.finish();
}
