/**
 * Counts failed logins. Wrong passwords count by client address and by user name, so that many addresses guessing one name are
 * throttled like one address guessing many. An address the user has logged in from before is exempt from the limit by name.
 * Wrong tokens count separately: they cannot be guessed, so they never delay a password.
 */
import { FailedAttempts, networkOf } from "./failures.ts";

/** Per minute, for one name, from all addresses that never logged in with it. */
export const freeAttemptsOfName = 10;
const maxKnown = 10_000;

export class LoginAttempts {
  /** Failed attempts of every kind. */
  readonly byAddress = new FailedAttempts();
  readonly #passwords = new FailedAttempts();
  readonly #byName = new FailedAttempts(freeAttemptsOfName, (name) => name.toLowerCase());
  readonly #known = new Set<string>();

  /** Milliseconds until the next login attempt is allowed; 0 if it is allowed now. */
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
