/** Current disk failures, by kind, from the first failure until the same operation succeeds. Logged at begin and end. */
import { formatError, systemCode } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { StoreError } from "./error.ts";

/** `write`: appending to the log; `sync`: syncing it to disk; `upkeep`: sealing, merging, retention; `start`: the manifest. */
export type FailureKind = "write" | "sync" | "upkeep" | "start";

interface Failure {
  readonly sentence: string;
  readonly isFull: boolean;
}

const full = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
export const isDiskFull = (thrown: unknown): boolean =>
  full.has(systemCode(thrown) ?? "") ||
  (thrown instanceof StoreError && (thrown.kind === "full" || isDiskFull(thrown.cause)));

export class DiskFailures {
  readonly #log: Log;
  readonly #now = new Map<FailureKind, Failure>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** `consequence`: a sentence about what does not work during the failure. */
  add(kind: FailureKind, consequence: string, thrown: unknown): void {
    const sentence = `${consequence}: ${formatError(thrown)}`;
    const known = this.#now.get(kind);
    this.#now.set(kind, { sentence, isFull: isDiskFull(thrown) });
    if (known?.sentence !== sentence) this.#log.error(sentence);
  }

  clear(kind: FailureKind): void {
    const known = this.#now.get(kind);
    if (known === undefined) return;
    this.#now.delete(kind);
    this.#log.info(`no longer so: ${known.sentence}`);
  }

  /** The current failure of a kind; a new object each time it fails. */
  get(kind: FailureKind): Failure | undefined {
    return this.#now.get(kind);
  }

  get isFull(): boolean {
    return [...this.#now.values()].some((failure) => failure.isFull);
  }

  get sentences(): readonly string[] {
    return [...this.#now.values()].map(({ sentence }) => sentence);
  }
}
