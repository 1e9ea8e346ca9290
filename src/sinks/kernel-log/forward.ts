/** The kernel's lines about GPUs from its log to where they are wanted, and what there is to say of that. */
import type { Log } from "../../base/log.ts";
import type { Frame } from "../../model/frame.ts";
import { classify } from "../../machine/kernel-log/classify.ts";
import type { Vendor } from "../../model/vendor.ts";
import type { KernelLogTarget, KernelLogReadOptions, TargetContext } from "./define.ts";
import { KernelLogFrames } from "./frames.ts";
import { KernelLogReader } from "../../machine/kernel-log/reader.ts";
import { BufferedSender, type BufferedSenderOptions } from "../../base/send/buffered-sender.ts";
import type { KernelLine, LineTarget } from "./line.ts";
import { systemNow } from "../../machine/kernel-log/wall-time.ts";

export interface ForwardContext extends TargetContext {
  readonly hostName: string;
  readonly log: Log;
  readonly random: () => number;
}

export const openLineSender = (
  target: LineTarget,
  options: Pick<
    BufferedSenderOptions<KernelLine>,
    "maxItems" | "batchItems" | "lingerMs" | "log" | "random"
  >,
): BufferedSender<KernelLine> =>
  new BufferedSender({
    name: target.shown,
    send: (lines, signal) => target.send(lines, signal),
    batchItems: 500,
    lingerMs: 1_000,
    maxRetryAfterMs: 60_000,
    ...options,
  });

export interface KernelLogForward {
  start(): void;
  /** What waits is sent as long as the grace allows. */
  stop(graceMs: number): Promise<void>;
  /** What was found, sent and lost, for our own page. */
  frame(): Frame;
}

export async function openForward(
  { definition, options }: KernelLogTarget,
  context: ForwardContext,
): Promise<KernelLogForward> {
  const { since, vendors, kmsg, queue } = options as KernelLogReadOptions;
  const { hostName, log, random, nowMs } = context;
  const target = await definition.open(options, context);
  const sender = openLineSender(target, { maxItems: queue, log, random });
  const found = new Map<Vendor, number>();
  const reader = new KernelLogReader({
    path: kmsg,
    sinceBoot: since === "boot",
    log,
    now: systemNow,
    onRecord: (record, timeNs) => {
      const line = classify(record);
      if (line === undefined || !vendors.includes(line.vendor)) return;
      found.set(line.vendor, (found.get(line.vendor) ?? 0) + 1);
      void sender.add([{ ...line, host: hostName, timeNs }]);
    },
  });
  const stopping = new AbortController();
  const frames = new KernelLogFrames();
  let running: Promise<void> | undefined;
  return {
    start: () => {
      log.info("forwarding the kernel's lines about GPUs", { from: kmsg, to: target.shown });
      running = reader.run(stopping.signal);
    },
    stop: async (graceMs) => {
      stopping.abort();
      await running;
      await sender.close(graceMs);
      target.close();
    },
    frame: () =>
      frames.at(nowMs(), {
        isReadable: reader.isReadable,
        lost: reader.lost,
        found,
        sender: sender.stats(),
      }),
  };
}
