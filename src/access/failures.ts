/**
 * Counts failed attempts by address, so that a flood of them costs neither log lines nor slow password checks. A right
 * token is never held up by its neighbours' wrong ones: it cannot be guessed, so there is nothing to slow down.
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

  /** How long this address shall wait, in milliseconds; 0 when it may try. */
  waitMs(address: string, nowMs: number): number {
    const window = this.#windows.get(this.#keyOf(address));
    if (window === undefined || window.failed < this.#free) return 0;
    return Math.max(0, window.startMs + windowMs - nowMs);
  }

  /** Returns how many it made of them within the minute. */
  add(address: string, nowMs: number): number {
    const key = this.#keyOf(address);
    const window = this.#windows.get(key);
    if (window !== undefined && nowMs - window.startMs < windowMs) {
      return ++window.failed;
    }
    this.#windows.delete(key);
    this.#windows.set(key, { startMs: nowMs, failed: 1 });
    // The map keeps the order of insertion: the first is the oldest.
    for (const [oldest] of this.#windows) {
      if (this.#windows.size <= maxAddresses) break;
      this.#windows.delete(oldest);
    }
    return 1;
  }
}

/** An IPv6 customer has a /64 at least, and could come from another address each time. */
export function networkOf(address: string | undefined): string {
  // A client that has gone has no address any more, whatever the type says.
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
