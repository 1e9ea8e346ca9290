/**
 * Follows /dev/kmsg, or a file or pipe in the same format. Never writes to it, never blocks in a read, and counts the records
 * that the kernel overwrote before they were read.
 */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { formatError, systemCode } from "../../base/error.ts";
import { setImmediate } from "node:timers/promises";
import { pause } from "../../base/retry.ts";
import type { Log } from "../../base/log.ts";
import { FragmentJoiner, type KmsgRecord, parseRecord } from "./record.ts";

/* Converts the kernel's clock to wall time. The times of a run only increase, unless the wall clock is set back. */

interface ClockReading {
  readonly wallMs: number;
  /** The clock of the kernel's log: CLOCK_MONOTONIC, not the process's uptime. */
  readonly sinceBootUs: number;
}

const stepNs = 1_000_000_000n;

export class WallTime {
  #lastNs = 0n;

  /**
   * @param notBeforeMs when the log was last read to its end. The kernel's clock is not synchronised with the wall clock and is
   * minutes off after months, so the time of a new record is clamped to the range from that read until now.
   */
  of(sinceBootUs: number, now: ClockReading, notBeforeMs: number): bigint {
    const nowUs = Math.round(now.wallMs * 1_000);
    const estimateUs = nowUs - (now.sinceBootUs - sinceBootUs);
    const us = Math.min(nowUs, Math.max(Math.round(notBeforeMs * 1_000), estimateUs));
    const ns = BigInt(Math.max(0, Math.round(us))) * 1_000n;
    const isBackwards = ns <= this.#lastNs && this.#lastNs - ns < stepNs;
    this.#lastNs = isBackwards ? this.#lastNs + 1n : ns;
    return this.#lastNs;
  }
}

export const systemNow = (): ClockReading => ({
  wallMs: Date.now(),
  sinceBootUs: Number(process.hrtime.bigint() / 1_000n),
});

/* Checks whether this user may read the kernel's log, and how to fix it if not. Opens it for reading only. */

export const defaultKmsg = "/dev/kmsg";

export interface KernelLogAccess {
  readonly state: "found" | "not-found" | "denied" | "failed";
  readonly says: string;
  readonly fix?: string;
}

/** Does not block: without O_NONBLOCK a read of /dev/kmsg waits for the next record. */
function openKmsg(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

export function checkAccess(path = defaultKmsg): KernelLogAccess {
  try {
    closeSync(openKmsg(path));
    return { state: "found", says: `${path} can be read.` };
  } catch (thrown) {
    return explain(path, thrown);
  }
}

export function explain(path: string, thrown: unknown): KernelLogAccess {
  const code = systemCode(thrown);
  if (code === "ENOENT")
    return {
      state: "not-found",
      says: `${path} is not there.`,
      fix: "A container gets access by --device /dev/kmsg:/dev/kmsg:r; see docs/guides/kernel-log.md.",
    };
  if (code === "EPERM" || code === "EACCES")
    return {
      state: "denied",
      says: `This user may not read ${path}.`,
      fix: "It takes root or CAP_SYSLOG, or kernel.dmesg_restrict=0 and the group the device is of (often adm); a container needs the device itself too. See docs/guides/kernel-log.md.",
    };
  return { state: "failed", says: `${path} cannot be read: ${formatError(thrown)}` };
}

interface KernelLogReaderOptions {
  readonly path: string;
  /** Also read the records written before this reader started. */
  readonly sinceBoot: boolean;
  readonly log: Log;
  readonly now: () => ClockReading;
  readonly onRecord: (record: KmsgRecord, timeNs: bigint) => void;
  readonly pollMs?: number;
  /** Interval of retrying a log that cannot be opened. */
  readonly retryMs?: number;
}

/** A read into a buffer smaller than the record fails; the kernel's records have at most 8 KiB. */
const readBytes = 16_384;
/** Records per batch, so that reading a long log does not block the event loop. */
const mostAtOnce = 256;
/** The kernel writes no line longer than this. */
const longestLine = 65_536;

export class KernelLogReader {
  readonly #options: Required<KernelLogReaderOptions>;
  readonly #buffer = Buffer.alloc(readBytes);
  readonly #joiner = new FragmentJoiner();
  readonly #time = new WallTime();
  #tail = "";
  #lastSequence: number | undefined;
  #isFollowing = false;
  #seenEmptyMs = 0;
  #lost = 0;
  #justLost = 0;
  #isReadable = false;
  #problem: string | undefined;

  constructor(options: KernelLogReaderOptions) {
    this.#options = { pollMs: 500, retryMs: 60_000, ...options };
    this.#isFollowing = options.sinceBoot;
  }

  /** True if the log is open now. */
  get isReadable(): boolean {
    return this.#isReadable;
  }

  /** Number of records that the kernel overwrote before they were read. */
  get lost(): number {
    return this.#lost;
  }

  /** Runs until the signal aborts; then reads the rest of the log. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const fd = this.#open();
      if (fd === undefined) {
        await pause(this.#options.retryMs, signal);
        continue;
      }
      try {
        await this.#follow(fd, signal);
      } catch (thrown) {
        this.#say(`reading ${this.#options.path} failed: ${formatError(thrown)}`);
        await pause(this.#options.retryMs, signal);
      } finally {
        this.#isReadable = false;
        closeSync(fd);
      }
    }
  }

  #open(): number | undefined {
    const { path, log } = this.#options;
    try {
      const fd = openKmsg(path);
      this.#isReadable = true;
      if (this.#problem !== undefined) log.info("kernel log is readable again", { path });
      this.#problem = undefined;
      return fd;
    } catch (thrown) {
      const { says, fix } = explain(path, thrown);
      this.#say(fix === undefined ? says : `${says} ${fix}`);
      return undefined;
    }
  }

  #say(problem: string): void {
    if (problem !== this.#problem)
      this.#options.log.error("kernel log is not readable", { error: problem });
    this.#problem = problem;
  }

  async #follow(fd: number, signal: AbortSignal): Promise<void> {
    this.#tail = "";
    for (;;) {
      const isLast = signal.aborted;
      if (this.#drain(fd)) {
        await setImmediate();
        continue;
      }
      this.#settle();
      if (isLast) return;
      await pause(this.#options.pollMs, signal);
    }
  }

  /** Returns true if there may be more records. */
  #drain(fd: number): boolean {
    for (let count = 0; count < mostAtOnce; count++) {
      let bytes: number;
      try {
        bytes = readSync(fd, this.#buffer, 0, readBytes, null);
      } catch (thrown) {
        const code = systemCode(thrown);
        if (code === "EAGAIN") return false;
        // EPIPE: the next record was overwritten. The next read returns the oldest one; its sequence number shows how many were lost.
        if (code === "EPIPE" || code === "EINTR") continue;
        throw thrown;
      }
      if (bytes === 0) return false;
      this.#take(this.#buffer.toString("latin1", 0, bytes));
    }
    return true;
  }

  #take(text: string): void {
    const lines = (this.#tail + text).split("\n");
    this.#tail = lines.pop() ?? "";
    if (this.#tail.length > longestLine) this.#tail = "";
    for (const line of lines) {
      const record = parseRecord(line);
      if (record === undefined) continue;
      const before = this.#lastSequence;
      // A reopened log starts with records that have already been read.
      if (before !== undefined && record.sequence <= before) continue;
      this.#lastSequence = record.sequence;
      if (!this.#isFollowing) continue;
      if (before !== undefined) this.#justLost += record.sequence - before - 1;
      const whole = this.#joiner.push(record);
      if (whole !== undefined) this.#give(whole);
    }
  }

  /** The log is read to its end: emits the pending record, which is complete, and treats all later records as new. */
  #settle(): void {
    const { log, path, now } = this.#options;
    const held = this.#joiner.flush();
    if (held !== undefined) this.#give(held);
    if (this.#justLost > 0)
      log.warn("kernel log records were overwritten before they were read", {
        path,
        lost: this.#justLost,
      });
    this.#lost += this.#justLost;
    this.#justLost = 0;
    this.#isFollowing = true;
    this.#seenEmptyMs = now().wallMs;
  }

  #give(record: KmsgRecord): void {
    const { onRecord, now } = this.#options;
    onRecord(record, this.#time.of(record.sinceBootUs, now(), this.#seenEmptyMs));
  }
}
