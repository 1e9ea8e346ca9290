/**
 * A read of pcie_bw takes a second, during which it counts. It is read in the background, one card of the machine at a time, so
 * that at most one thread of the pool waits for it; a tick returns the result of the last read.
 */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { readText } from "../../machine/sysfs/read.ts";
import { failed, mapReadResult, type ReadResult } from "../../machine/sysfs/read-result.ts";
import { parsePcieBandwidth, type PcieTraffic } from "./parse.ts";

/** Maximum age of a result; an older one is not the current traffic. */
const freshForMs = 30_000;

/** Serialises the reads of all cards of a machine. */
export class PcieReadQueue {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(task: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(task);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}

export class PcieBandwidth {
  readonly #file: string;
  readonly #fileAccess: FileAccess;
  readonly #turn: PcieReadQueue;
  #running = false;
  #result: { readonly askedAtMs: number; readonly traffic: ReadResult<PcieTraffic> } | undefined;

  constructor(device: string, fileAccess: FileAccess, turn: PcieReadQueue) {
    this.#file = `${device}/pcie_bw`;
    this.#fileAccess = fileAccess;
    this.#turn = turn;
  }

  read(timeMs: number, direction: "receive" | "transmit"): ReadResult<number> {
    const result = this.#result;
    this.#start(timeMs);
    if (result === undefined || timeMs - result.askedAtMs > freshForMs) return failed;
    return mapReadResult(result.traffic, ({ receivedBytes, sentBytes }) =>
      direction === "receive" ? receivedBytes : sentBytes,
    );
  }

  #start(timeMs: number): void {
    if (this.#running) return;
    this.#running = true;
    void this.#turn.take(async () => {
      const text = await readText(this.#file, 256, this.#fileAccess);
      const traffic = text.ok ? parsePcieBandwidth(text.value) : text;
      this.#result = { askedAtMs: timeMs, traffic };
      this.#running = false;
    });
  }
}
