/**
 * Failed attempts. Passwords are counted by address and by name: many addresses that guess at one name are slowed like one
 * address that guesses at many. An address a user has logged in from is not held up by others' failures at that name. Wrong
 * tokens are counted apart: they cannot be guessed, so they hold up no password.
 */
import { FailedAttempts, networkOf } from "./failures.ts";

/** A minute, of one name, from all addresses that name was never right from. */
export const freeAttemptsOfName = 10;
const maxKnown = 10_000;

export class LoginAttempts {
  /** Of every kind. */
  readonly byAddress = new FailedAttempts();
  readonly #passwords = new FailedAttempts();
  readonly #byName = new FailedAttempts(freeAttemptsOfName, (name) => name.toLowerCase());
  readonly #known = new Set<string>();

  /** How long to wait, in milliseconds; 0 when one may try. */
  waitMs(address: string, name: string, nowMs: number): number {
    const own = this.#passwords.waitMs(address, nowMs);
    return this.#known.has(knownKey(address, name))
      ? own
      : Math.max(own, this.#byName.waitMs(name, nowMs));
  }

  failed(address: string, name: string, nowMs: number): void {
    this.#passwords.add(address, nowMs);
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
