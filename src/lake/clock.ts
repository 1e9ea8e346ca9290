/**
 * The clock for a lake's retention if no hub provides one: it starts at the newest day of the lake and ignores jumps of the wall
 * clock. A lake that gets no rows removes none.
 */
import type { FileStore } from "../net/objects/store.ts";
import { TrustedClock } from "../base/state/trusted-clock.ts";
import { parsePath } from "./names.ts";
import { tableNames } from "./table.ts";

export interface LakeClockOptions {
  readonly files: FileStore;
  readonly nowMs: () => number;
  /** The process's monotonic clock if absent. */
  readonly monotonicMs?: () => number;
}

const observeEveryMs = 30_000;
const dayMs = 86_400_000;

export class LakeClock {
  readonly #options: LakeClockOptions;
  readonly #timer: NodeJS.Timeout;
  #opening: Promise<TrustedClock>;
  #clock: TrustedClock | undefined;

  /** Lists the lake at once: rows written by this process may have a wrong time. */
  constructor(options: LakeClockOptions) {
    this.#options = options;
    this.#opening = this.#open();
    this.#opening.catch(() => undefined);
    this.#timer = setInterval(() => this.#clock?.nowMs(), observeEveryMs).unref();
  }

  /** Rejects if the lake cannot be listed; the next call tries again. */
  async nowMs(): Promise<number> {
    try {
      this.#clock ??= await this.#opening;
      return this.#clock.nowMs();
    } catch (thrown) {
      this.#opening = this.#open();
      this.#opening.catch(() => undefined);
      throw thrown;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #open(): Promise<TrustedClock> {
    const { files, nowMs, monotonicMs = () => performance.now() } = this.#options;
    let newestMs = Number.NEGATIVE_INFINITY;
    for (const table of tableNames)
      for (const { path } of await files.list(`${table}/date=`))
        newestMs = Math.max(newestMs, Date.parse(parsePath(path)?.date ?? "") || newestMs);
    const startMs = Number.isFinite(newestMs) ? newestMs + dayMs : undefined;
    return new TrustedClock({ nowMs, monotonicMs, startMs });
  }
}
