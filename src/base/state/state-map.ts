/**
 * A map that survives restarts: each change is one record of a state log, and a log that has grown far beyond its entries is
 * rewritten.
 */
import { StateLog, type StateLogOptions } from "./state-log.ts";

/** Smaller files are not worth rewriting. */
const smallBytes = 64 * 1024;

export interface StateMapOptions<Value> extends StateLogOptions {
  /** Validates a value read from the file; an undefined result drops the entry and logs that. */
  readonly parse: (value: unknown) => Value | undefined;
  /** Entries beyond this limit are refused. */
  readonly maxEntries?: number;
}

/** Records are `["put", key, value]` and `["delete", key]`. */
export class StateMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #log: StateLog;
  readonly #maxEntries: number;
  #rewrittenBytes = 0;

  constructor(file: string, options: StateMapOptions<Value>) {
    this.#maxEntries = options.maxEntries ?? 100_000;
    this.#log = new StateLog(file, options, {
      reset: () => this.#entries.clear(),
      record: (payload) => this.#apply(payload, options.parse),
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  get damaged(): number {
    return this.#log.damaged;
  }

  /** For a strict file: true if the entries are unreliable. */
  get isDamaged(): boolean {
    return this.#log.isDamaged;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#entries.entries();
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }

  /** Stored when this returns. `value` must survive a JSON round trip. */
  put(key: string, value: Value): void {
    if (!this.#entries.has(key) && this.#entries.size >= this.#maxEntries)
      throw new RangeError(
        `No more than ${this.#maxEntries} entries are allowed: remove some first.`,
      );
    this.#log.append(["put", key, value]);
    this.#entries.set(key, value);
    this.#compact();
  }

  delete(key: string): boolean {
    if (!this.#entries.has(key)) return false;
    this.#log.append(["delete", key]);
    this.#entries.delete(key);
    this.#compact();
    return true;
  }

  /** Reads what another process wrote; true if there was anything. Costs one stat if there was nothing. */
  refresh(): boolean {
    return this.#log.refresh();
  }

  close(): void {
    this.#log.close();
  }

  #compact(): void {
    if (this.#log.sizeBytes < smallBytes + 2 * this.#rewrittenBytes) return;
    const entries = this.#entries;
    this.#log.rewrite(
      (function* () {
        for (const [key, value] of entries) yield ["put", key, value];
      })(),
    );
    this.#rewrittenBytes = this.#log.sizeBytes;
  }

  #apply(payload: unknown, parse: (value: unknown) => Value | undefined): boolean {
    if (!Array.isArray(payload)) return false;
    const [what, key, given] = payload as readonly unknown[];
    if (typeof key !== "string") return false;
    if (what === "delete") {
      this.#entries.delete(key);
      return true;
    }
    const value = what === "put" ? parse(given) : undefined;
    if (value !== undefined) this.#entries.set(key, value);
    return value !== undefined;
  }
}
