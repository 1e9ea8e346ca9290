/** What sinks that send say of themselves, as a frame made when it is asked for. */
import { self } from "../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { labelSet } from "../model/labels.ts";
import { type Layout, LayoutBuilder } from "../model/layout.ts";
import type { Sink } from "./sink.ts";
import type { DropReason } from "./spool/drops.ts";

const dropReasons: readonly DropReason[] = ["full", "old", "disk", "damaged"];

export class ShipFrames {
  readonly #sinks: readonly Sink[];
  readonly #layout: Layout;

  /** Sinks that do not send have nothing to say here. */
  constructor(sinks: readonly Sink[]) {
    const byName = new Map(sinks.map((sink) => [sink.name, sink]));
    this.#sinks = [...byName.values()].filter((sink) => sink.shipping !== undefined);
    const builder = new LayoutBuilder();
    for (const { name: sink } of this.#sinks) {
      builder.add(self.spoolBytes, labelSet({ sink }));
      builder.add(self.spoolRecords, labelSet({ sink }));
      for (const reason of dropReasons) builder.add(self.spoolDropped, labelSet({ sink, reason }));
      for (const outcome of ["sent", "refused"])
        builder.add(self.shipSamples, labelSet({ sink, outcome }));
      builder.add(self.shipRetries, labelSet({ sink }));
      builder.add(self.shipLag, labelSet({ sink }));
      builder.add(self.shipUp, labelSet({ sink }));
      builder.add(self.shipClockDifference, labelSet({ sink }));
      builder.add(self.shipRestamped, labelSet({ sink }));
    }
    this.#layout = builder.build();
  }

  at(timeMs: number): Frame {
    const writer = new FrameWriter(this.#layout, timeMs);
    let slot = 0;
    const put = (value: number | undefined): void =>
      value === undefined ? writer.absent(slot++, "unsupported") : writer.set(slot++, value);
    for (const sink of this.#sinks) {
      const shipping = sink.shipping?.();
      if (shipping === undefined) continue;
      const { spool, ship } = shipping;
      put(spool.bytes);
      put(spool.records);
      for (const reason of dropReasons) put(spool.dropped[reason].samples);
      put(ship.sentSamples);
      put(ship.refusedSamples);
      put(ship.retries);
      put(ship.lagSeconds);
      put(ship.problem === undefined ? 1 : 0);
      put(ship.clockAheadSeconds);
      put(ship.restampedSamples);
    }
    return writer.finish();
  }
}
