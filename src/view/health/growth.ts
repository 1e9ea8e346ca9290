/**
 * Growth of a counter, or the time that something held, within the last minutes to a day. Stores only growth, so that healthy GPUs
 * use no memory.
 */

const bucketMs = 60_000;
const longestMs = 24 * 3_600_000;

export class Growth {
  #buckets: { readonly minute: number; amount: number }[] = [];
  #last: number | undefined;

  /** Takes a counter's new value. Returns true if it decreased: the device or its driver restarted. */
  count(value: number, timeMs: number): boolean {
    const before = this.#last;
    this.#last = value;
    if (before === undefined || value === before) return false;
    if (value < before) return true;
    this.add(value - before, timeMs);
    return false;
  }

  add(amount: number, timeMs: number): void {
    const minute = Math.floor(timeMs / bucketMs);
    const newest = this.#buckets.at(-1);
    if (newest?.minute === minute) newest.amount += amount;
    else this.#buckets.push({ minute, amount });
    const oldest = Math.floor((timeMs - longestMs) / bucketMs);
    while ((this.#buckets[0]?.minute ?? minute) < oldest) this.#buckets.shift();
  }

  within(spanMs: number, nowMs: number): number {
    const from = Math.floor((nowMs - spanMs) / bucketMs);
    let sum = 0;
    for (const { minute, amount } of this.#buckets) if (minute > from) sum += amount;
    return sum;
  }

  /** Start of the oldest growth within a day. */
  get firstMs(): number | undefined {
    const first = this.#buckets[0];
    return first === undefined ? undefined : first.minute * bucketMs;
  }

  clear(): void {
    this.#buckets = [];
  }
}

/** Mean over about a minute. */
export class SmoothedValue {
  #value: number | undefined;
  #timeMs = 0;

  take(value: number | undefined, timeMs: number): void {
    if (value === undefined) {
      this.#value = undefined;
      return;
    }
    const share = 1 - Math.exp(-Math.max(0, timeMs - this.#timeMs) / 60_000);
    this.#value = this.#value === undefined ? value : this.#value + share * (value - this.#value);
    this.#timeMs = timeMs;
  }

  get value(): number | undefined {
    return this.#value;
  }
}
