/** A spool as the queue of a BatchSender. */
import type { SendQueue } from "../../base/send/batch-sender.ts";
import type { SpoolRecord } from "./segment.ts";
import type { Spool } from "./spool.ts";

/** @param batchBytes about how much one read returns. */
export const spoolQueue = (spool: Spool, batchBytes: number): SendQueue<SpoolRecord> => ({
  isPersistent: true,
  readable: (signal) => spool.readable(signal),
  read: () => spool.read(batchBytes),
  acknowledge: (records) => spool.acknowledge(records.at(-1)?.position ?? 0),
  oldestTimeMs: () => spool.stats().oldestTimeMs,
});
