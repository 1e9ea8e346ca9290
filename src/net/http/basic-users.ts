/**
 * Checks user names and passwords against bcrypt hashes. A check costs about 100 ms of this thread's time, so verified pairs are
 * cached by their digest, one check runs at a time, and an unknown user costs as much as a known one.
 */
import { createHash } from "node:crypto";

const maxRemembered = 100;
/** A hash that no real password matches; unknown users are checked against it. */
const nobody = "$2b$10$reFTQ449Nam.bJOEmAvrAe.LzcBMqMcKqKqvyxLuNrA.jVoC0Ugs6";
const maxWaiting = 32;

export class BasicUsers {
  readonly #hashes: ReadonlyMap<string, string>;
  readonly #right: Set<string>;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** `before`: its verified passwords stay cached as long as their hashes are unchanged. */
  constructor(hashes: ReadonlyMap<string, string>, before?: BasicUsers) {
    this.#hashes = hashes;
    this.#right = new Set(before === undefined ? [] : before.#right);
  }

  get any(): boolean {
    return this.#hashes.size > 0;
  }

  get names(): readonly string[] {
    return [...this.#hashes.keys()];
  }

  /** A stamp that changes with the user's password; undefined if there is no such user. The stamp itself grants no access. */
  stampOf(user: string): string | undefined {
    const hash = this.#hashes.get(user);
    return hash === undefined
      ? undefined
      : createHash("sha256").update(hash).digest("base64url").slice(0, 16);
  }

  /** True if this user and password were verified before; costs no bcrypt check. */
  remembers(user: string, password: string): boolean {
    return this.#right.has(this.#key(user, password));
  }

  async check(user: string, password: string): Promise<boolean> {
    if (this.remembers(user, password)) return true;
    if (this.#waiting >= maxWaiting) return false;
    this.#waiting++;
    const before = this.#turn;
    const checked = (async () => {
      await before;
      return this.#compare(user, password);
    })().finally(() => this.#waiting--);
    this.#turn = checked.catch(() => undefined);
    return checked;
  }

  async #compare(user: string, password: string): Promise<boolean> {
    if (this.remembers(user, password)) return true;
    const { compare } = await import("bcryptjs");
    const hash = this.#hashes.get(user);
    const same = await compare(password, hash ?? nobody);
    if (!same || hash === undefined) return false;
    const [oldest] = this.#right;
    if (this.#right.size >= maxRemembered && oldest !== undefined) this.#right.delete(oldest);
    this.#right.add(this.#key(user, password));
    return true;
  }

  /** The key contains the hash, so changing a password invalidates the cached one. */
  #key(user: string, password: string): string {
    const parts = JSON.stringify([user, this.#hashes.get(user) ?? "", password]);
    return createHash("sha256").update(parts).digest("hex");
  }
}
