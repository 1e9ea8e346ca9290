/**
 * A trusted clock that is stored in a file and continues from there after a restart: a machine that boots with a wrong clock
 * deletes no history.
 */
import { readFileSync } from "node:fs";
import type { Log } from "../log.ts";
import { formatError } from "../error.ts";
import { replaceFile } from "./atomic.ts";
import { TrustedClock } from "./trusted-clock.ts";

export interface StoredClockOptions {
  readonly file: string;
  readonly nowMs: () => number;
  /** The process's own monotonic clock if absent. */
  readonly monotonicMs?: () => number;
  readonly log: Log;
}

const observeEveryMs = 30_000;
const storeEveryMs = 10 * 60_000;

export class StoredClock {
  readonly #options: StoredClockOptions;
  readonly #clock: TrustedClock;
  readonly #timer: NodeJS.Timeout;
  #storedMs = Number.NEGATIVE_INFINITY;

  constructor(options: StoredClockOptions) {
    const { nowMs, monotonicMs = () => performance.now() } = options;
    this.#options = options;
    this.#clock = new TrustedClock({ nowMs, monotonicMs, startMs: read(options.file) });
    this.#timer = setInterval(() => this.nowMs(), observeEveryMs).unref();
  }

  nowMs(): number {
    const nowMs = this.#clock.nowMs();
    if (Math.abs(nowMs - this.#storedMs) >= storeEveryMs) this.#store(nowMs);
    return nowMs;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#store(this.#clock.nowMs());
  }

  #store(nowMs: number): void {
    this.#storedMs = nowMs;
    try {
      replaceFile(this.#options.file, `${Math.floor(nowMs)}\n`);
    } catch (thrown) {
      this.#options.log.warn("the trusted time cannot be stored", { error: formatError(thrown) });
    }
  }
}

function read(file: string): number | undefined {
  try {
    const ms = Number(readFileSync(file, "utf8"));
    return ms > 0 ? ms : undefined;
  } catch {
    return undefined;
  }
}
