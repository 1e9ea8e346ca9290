/** Who logged in to the page with a token: a random name in a cookie, kept in memory alone, gone when the hub restarts. */
import type { Scope } from "./scope.ts";
import { digestOf } from "./token.ts";

export interface Session {
  readonly tokenId: string;
  readonly tokenName: string;
  readonly scope: Scope;
  readonly endsMs: number;
}

export const sessionMs = 12 * 3_600_000;
const maxSessions = 1_000;
const nameBytes = 32;

export class Sessions {
  /** By the digest of the cookie's value, so that a heap dump opens nothing. */
  readonly #sessions = new Map<string, Session>();
  readonly #random: (bytes: number) => Buffer;

  constructor(random: (bytes: number) => Buffer) {
    this.#random = random;
  }

  /** The value for the cookie. When there are too many, the oldest has to log in again. */
  open(session: Omit<Session, "endsMs">, nowMs: number): string {
    for (const [key, { endsMs }] of this.#sessions)
      if (endsMs <= nowMs || this.#sessions.size >= maxSessions) this.#sessions.delete(key);
      else break;
    const name = this.#random(nameBytes).toString("base64url");
    this.#sessions.set(digestOf(name), { ...session, endsMs: nowMs + sessionMs });
    return name;
  }

  find(name: string, nowMs: number): Session | undefined {
    const session = this.#sessions.get(digestOf(name));
    return session !== undefined && session.endsMs > nowMs ? session : undefined;
  }

  close(name: string): void {
    this.#sessions.delete(digestOf(name));
  }
}
