/** Pending and sent counts of a sink that holds unsent data in memory: nothing of it is on disk. */
import type { BufferedSenderStats } from "../base/send/buffered-sender.ts";
import type { ShippingStats } from "../pipeline/sink.ts";

const none = { records: 0, samples: 0 };

export function memoryShipping(
  name: string,
  { waiting, dropped: _, ...stats }: BufferedSenderStats,
): ShippingStats {
  return {
    ship: { ...stats, name },
    spool: {
      bytes: 0,
      diskBytes: 0,
      records: waiting,
      samples: waiting,
      dropped: { full: none, old: none, disk: none, damaged: none },
      damagedBytes: 0,
    },
  };
}
