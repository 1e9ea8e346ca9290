/** Forwards kernel log lines about GPUs to a target. */
import type { Log } from "../../base/log.ts";
import { self } from "../../model/catalogue/index.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import { classify } from "../../machine/kernel-log/classify.ts";
import { type Vendor, vendors as allVendors } from "../../model/vendor.ts";
import type { KernelLogTarget, KernelLogReadOptions, TargetContext } from "./define.ts";
import { KernelLogReader, systemNow } from "../../machine/kernel-log/reader.ts";
import { BufferedSender, type BufferedSenderOptions } from "../../base/send/buffered-sender.ts";
import type { KernelLine, LineTarget } from "./line.ts";

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
  /** Sends the pending lines, for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
  readonly selfMetrics: CollectMetrics;
}

export async function openForward(
  { definition, options }: KernelLogTarget,
  context: ForwardContext,
): Promise<KernelLogForward> {
  const { since, vendors, kmsg, queue } = options as KernelLogReadOptions;
  const { hostName, log, random } = context;
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
  let running: Promise<void> | undefined;
  return {
    start: () => {
      log.info("forwarding kernel log lines about GPUs", { from: kmsg, to: target.shown });
      running = reader.run(stopping.signal);
    },
    stop: async (graceMs) => {
      stopping.abort();
      await running;
      await sender.close(graceMs);
      target.close();
    },
    selfMetrics: (put) => {
      const stats = sender.stats();
      put(self.kernelLogReadable, Number(reader.isReadable));
      put(self.kernelLogLost, reader.lost);
      for (const vendor of allVendors) put(self.kernelLogFound, found.get(vendor) ?? 0, { vendor });
      put(self.kernelLogLines, stats.sentSamples, { outcome: "sent" });
      put(self.kernelLogLines, stats.refusedSamples, { outcome: "refused" });
      put(self.kernelLogLines, stats.dropped, { outcome: "dropped" });
      put(self.kernelLogWaiting, stats.waiting);
      put(self.kernelLogRetries, stats.retries);
      put(self.kernelLogUp, Number(stats.problem === undefined));
    },
  };
}
