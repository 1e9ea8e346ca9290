/** Counts the records a spool dropped, by reason, and logs each reason once per outage. */
import type { Log } from "../../base/log.ts";

/** full: the size limit. old: the age limit. disk: a failed write. damaged: the record could not be read back. */
export type DropReason = "full" | "old" | "disk" | "damaged";
export type DropCounts = Readonly<Record<DropReason, { records: number; samples: number }>>;

const quietMs = 60_000;

export class Drops {
  readonly counts: DropCounts = {
    full: { records: 0, samples: 0 },
    old: { records: 0, samples: 0 },
    disk: { records: 0, samples: 0 },
    damaged: { records: 0, samples: 0 },
  };
  readonly #spool: string;
  readonly #log: Log;
  readonly #monotonicMs: () => number;
  readonly #logged = new Set<DropReason>();
  #lastMs = -Infinity;

  constructor(spool: string, log: Log, monotonicMs: () => number) {
    this.#spool = spool;
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  count(reason: DropReason, records: number, samples: number, problem?: string): void {
    this.counts[reason].records += records;
    this.counts[reason].samples += samples;
    this.#lastMs = this.#monotonicMs();
    if (this.#logged.has(reason)) return;
    this.#logged.add(reason);
    this.#log.error("the spool loses records", {
      spool: this.#spool,
      reason,
      ...(problem !== undefined && { error: problem }),
    });
  }

  /** Records fit again. Logged only a while after the last drop, because drops and writes alternate at the limit. */
  over(): void {
    if (this.#logged.size === 0 || this.#monotonicMs() - this.#lastMs < quietMs) return;
    this.#logged.clear();
    this.#log.info("the spool keeps records again", { spool: this.#spool });
  }
}
