/** Adapts a spool to the queue interface of a BatchSender. */
import { GpulseError } from "../../base/error.ts";
import type { SendQueue } from "../../base/send/batch-sender.ts";
import type { SpoolRecord } from "./segment.ts";
import type { Spool } from "./spool.ts";

/** @param batchBytes approximate size of one read */
export const spoolQueue = (spool: Spool, batchBytes: number): SendQueue<SpoolRecord> => ({
  isPersistent: true,
  readable: (signal) => spool.readable(signal),
  read: () => spool.read(batchBytes),
  acknowledge: (records) => spool.acknowledge(records.at(-1)?.position ?? 0),
  oldestTimeMs: () => spool.stats().oldestTimeMs,
});

/** The error for a writer that waits, if the spool can never store its frame. */
export const createSpoolError = (sink: string, folder: string): GpulseError =>
  new GpulseError(
    "SINK_FAILED",
    `${sink} cannot store a frame in ${folder}: the disk is full or not writable, or the frame is larger than spool_bytes. Free space or raise it, and start again: nothing since the last checkpoint is committed.`,
  );
