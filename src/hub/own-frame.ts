/** What the hub says about its store and its ways in, as a frame beside the collector's own. */
import { self } from "../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { labelSet, noLabels } from "../model/labels.ts";
import { LayoutBuilder } from "../model/layout.ts";
import type { Store } from "../storage/embedded/store.ts";
import type { ApiContext } from "./api/context.ts";
import { receiverOutcomes, ReceiverCounts, receiverNames } from "./receive/receiver-counts.ts";

export const newReceiverCounts = (): ReceiverCounts => new ReceiverCounts();

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

/** Without a store of our own, what the store would tell is absent. */
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
  if (store === undefined) return withoutStore(writer);
  const stats = store.stats();
  writer.set(seriesSlot, stats.series);
  writer.set(seriesLimitSlot, stats.maxSeries);
  writer.set(headSlot, stats.headSamples);
  writer.set(bytesSlot, stats.blockBytes + stats.removedBytes + stats.logBytes);
  writer.set(lostSlot, stats.lost.length - stats.unreadable);
  writer.set(unreadableSlot, stats.unreadable);
  writer.set(lostSamplesSlot, stats.lostSamples);
  return writer.finish();
}

function withoutStore(writer: FrameWriter): Frame {
  for (const slot of [
    seriesSlot,
    seriesLimitSlot,
    headSlot,
    bytesSlot,
    lostSlot,
    unreadableSlot,
    lostSamplesSlot,
  ])
    writer.absent(slot, "unsupported");
  return writer.finish();
}
