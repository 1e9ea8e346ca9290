/** A clock that tests turn by hand. Timers fire in order of their time, and promises settle between them. */
import { loopTurns } from "./fair/loop-turns.ts";
import type { Clock } from "./clock.ts";

export class FakeClock implements Clock {
  #nowMs: number;
  #setByMs = 0;
  #timers: { dueMs: number; call: () => void }[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs + this.#setByMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  uptimeMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, call: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  async advance(byMs: number): Promise<void> {
    const endMs = this.#nowMs + byMs;
    for (;;) {
      await settle();
      this.#timers.sort((left, right) => left.dueMs - right.dueMs);
      const next = this.#timers[0];
      if (next === undefined || next.dueMs > endMs) break;
      this.#timers.shift();
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.call();
    }
    this.#nowMs = endMs;
    await settle();
  }

  /** Somebody sets the wall clock; no time passes. */
  set(byMs: number): void {
    this.#setByMs += byMs;
  }

  /** The process was held up: time passed and nothing ran. */
  stall(byMs: number): void {
    this.#nowMs += byMs;
  }
}

/** Lets promise chains of ordinary depth run to their end. */
async function settle(): Promise<void> {
  const ticks = async (): Promise<void> => {
    for (let tick = 0; tick < 20; tick++) await Promise.resolve();
  };
  await ticks();
  // Work that waits for a turn on the event loop goes on once the loop has turned.
  while (loopTurns.waiting > 0) {
    await new Promise((resolve) => setImmediate(resolve));
    await ticks();
  }
}
