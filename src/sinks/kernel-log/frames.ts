/** What the forwarding of the kernel's lines says of itself, as a frame. */
import { self } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { type Vendor, vendors } from "../../model/vendor.ts";
import type { BufferedSenderStats } from "../../base/send/buffered-sender.ts";

const outcomes = ["sent", "refused", "dropped"];

export interface KernelLogState {
  readonly isReadable: boolean;
  readonly lost: number;
  readonly found: ReadonlyMap<Vendor, number>;
  readonly sender: BufferedSenderStats;
}

export class KernelLogFrames {
  readonly #layout = (() => {
    const builder = new LayoutBuilder();
    builder.add(self.kernelLogReadable, labelSet({}));
    builder.add(self.kernelLogLost, labelSet({}));
    for (const vendor of vendors) builder.add(self.kernelLogFound, labelSet({ vendor }));
    for (const outcome of outcomes) builder.add(self.kernelLogLines, labelSet({ outcome }));
    builder.add(self.kernelLogWaiting, labelSet({}));
    builder.add(self.kernelLogRetries, labelSet({}));
    builder.add(self.kernelLogUp, labelSet({}));
    return builder.build();
  })();

  at(timeMs: number, { isReadable, lost, found, sender }: KernelLogState): Frame {
    const writer = new FrameWriter(this.#layout, timeMs);
    let slot = 0;
    const put = (value: number): void => writer.set(slot++, value);
    put(Number(isReadable));
    put(lost);
    for (const vendor of vendors) put(found.get(vendor) ?? 0);
    for (const count of [sender.sentSamples, sender.refusedSamples, sender.dropped]) put(count);
    put(sender.waiting);
    put(sender.retries);
    put(Number(sender.problem === undefined));
    return writer.finish();
  }
}
