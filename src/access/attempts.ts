/**
 * Failed logins, counted by where they come from and by whose name they try: many addresses guessing at one name are slowed as
 * one address guessing at many. Where a user was let in from before, others' failures do not keep them out.
 */
import { Failures, networkOf } from "./failures.ts";

/** A minute, of one name, from all addresses that name was never right from. */
export const freeAttemptsOfName = 10;
const maxKnown = 10_000;

export class Attempts {
  readonly byAddress = new Failures();
  readonly #byName = new Failures(freeAttemptsOfName, (name) => name.toLowerCase());
  readonly #known = new Set<string>();

  /** How long to wait, in milliseconds; 0 when one may try. */
  waitMs(address: string, name: string, nowMs: number): number {
    const own = this.byAddress.waitMs(address, nowMs);
    return this.#known.has(knownKey(address, name))
      ? own
      : Math.max(own, this.#byName.waitMs(name, nowMs));
  }

  failed(name: string, nowMs: number): void {
    this.#byName.add(name, nowMs);
  }

  succeeded(address: string, name: string): void {
    const key = knownKey(address, name);
    this.#known.delete(key);
    const [oldest] = this.#known;
    if (this.#known.size >= maxKnown && oldest !== undefined) this.#known.delete(oldest);
    this.#known.add(key);
  }
}

const knownKey = (address: string, name: string): string =>
  `${networkOf(address)} ${name.toLowerCase()}`;
