/** What the hub says about its store and its ways in, as a frame beside the collector's own. */
import { self } from "../model/catalogue/index.ts";
import type { Frame } from "../model/frame.ts";
import { FrameWriter } from "../model/frame.ts";
import { labelSet, noLabels } from "../model/labels.ts";
import { LayoutBuilder } from "../model/layout.ts";
import type { Store } from "../store/store.ts";

/** What became of what senders sent; refused and dropped things are counted, never silent. */
export const receivedOutcomes = [
  "stored",
  "duplicate",
  "conflict",
  "too_old",
  "limit",
  "exemplar",
  "native_histogram",
  "malformed_request",
] as const;
export type ReceivedOutcome = (typeof receivedOutcomes)[number];
export type Received = Record<ReceivedOutcome, number>;

export function newReceived(): Received {
  return Object.fromEntries(receivedOutcomes.map((outcome) => [outcome, 0])) as Received;
}

const builder = new LayoutBuilder();
const slots = receivedOutcomes.map((outcome) => builder.add(self.received, labelSet({ outcome })));
const seriesSlot = builder.add(self.storeSeries, noLabels);
const headSlot = builder.add(self.storeHeadSamples, noLabels);
const bytesSlot = builder.add(self.storeBytes, noLabels);
const lostSlot = builder.add(self.storeLost, noLabels);
const layout = builder.build();

/** Without a store of our own, what the store would tell is absent. */
export function hubFrame(store: Store | undefined, received: Received, timeMs: number): Frame {
  const writer = new FrameWriter(layout, timeMs);
  receivedOutcomes.forEach((outcome, at) => writer.set(slots[at] ?? 0, received[outcome]));
  if (store === undefined) return withoutStore(writer);
  const stats = store.stats();
  writer.set(seriesSlot, stats.series);
  writer.set(headSlot, stats.headSamples);
  writer.set(bytesSlot, stats.blockBytes + stats.logBytes);
  writer.set(lostSlot, stats.lost.length);
  return writer.finish();
}

function withoutStore(writer: FrameWriter): Frame {
  for (const slot of [seriesSlot, headSlot, bytesSlot, lostSlot])
    writer.absent(slot, "unsupported");
  return writer.finish();
}
