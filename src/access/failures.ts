/**
 * Counts failed attempts by address, so that a flood of them costs neither log lines nor slow password checks. A valid token is
 * never delayed by wrong tokens from the same address: tokens cannot be guessed.
 */
const windowMs = 60_000;
export const freeAttempts = 20;
const maxAddresses = 10_000;

interface Window {
  startMs: number;
  failed: number;
}

export class FailedAttempts {
  readonly #windows = new Map<string, Window>();
  readonly #free: number;
  readonly #keyOf: (address: string) => string;

  constructor(free = freeAttempts, keyOf: (address: string) => string = networkOf) {
    this.#free = free;
    this.#keyOf = keyOf;
  }

  /** Milliseconds this address has to wait; 0 if it may try now. */
  waitMs(address: string, nowMs: number): number {
    const window = this.#windows.get(this.#keyOf(address));
    if (window === undefined || window.failed < this.#free) return 0;
    return Math.max(0, window.startMs + windowMs - nowMs);
  }

  /** Returns the number of failures of this address within the minute. */
  add(address: string, nowMs: number): number {
    const key = this.#keyOf(address);
    const window = this.#windows.get(key);
    if (window !== undefined && nowMs - window.startMs < windowMs) {
      return ++window.failed;
    }
    this.#windows.delete(key);
    this.#windows.set(key, { startMs: nowMs, failed: 1 });
    // Maps iterate in insertion order: the first entry is the oldest.
    for (const [oldest] of this.#windows) {
      if (this.#windows.size <= maxAddresses) break;
      this.#windows.delete(oldest);
    }
    return 1;
  }
}

/** IPv6 addresses are counted by /64: a customer has at least that many and could use a new address for each attempt. */
export function networkOf(address: string | undefined): string {
  // The address is undefined after the client has disconnected, whatever the type says.
  if (!address?.includes(":")) return address ?? "";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const groups =
    tail === undefined
      ? front
      : [
          ...front,
          ...Array<string>(Math.max(0, 8 - front.length - back.length)).fill("0"),
          ...back,
        ];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
