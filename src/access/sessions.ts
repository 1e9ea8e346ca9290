/**
 * Who is logged in to the page: a random name in a cookie, kept as its SHA-256 in `access/sessions.state`, so that a restart
 * of the hub throws nobody out and the file opens nothing. A disk that refuses keeps nobody out either: memory is enough.
 * What another process wants ended it writes into `access/session-ends.state`; the hub, which alone changes the first file,
 * does so at its next `refresh`.
 */
import path from "node:path";
import * as v from "valibot";
import { formatError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { StateMap } from "../base/state/state-map.ts";
import { scopes } from "./scope.ts";
import { digestOf } from "./token.ts";

/** On whose account it is: it ends when that does. */
const holderSchema = v.variant("kind", [
  v.object({ kind: v.literal("token"), id: v.string() }),
  v.object({ kind: v.literal("user"), id: v.string(), generation: v.number() }),
  /** Of the web configuration file; the stamp is another when the password is. */
  v.object({ kind: v.literal("file-user"), id: v.string(), stamp: v.string() }),
  /** Known by an OpenID provider. */
  v.object({ kind: v.literal("oidc"), id: v.string() }),
  v.object({ kind: v.literal("share"), id: v.string() }),
]);
export type SessionHolder = Readonly<v.InferOutput<typeof holderSchema>>;

const sessionSchema = v.object({
  holder: holderSchema,
  name: v.string(),
  scope: v.picklist(scopes),
  openedMs: v.number(),
  endsMs: v.number(),
  seenMs: v.number(),
});
export type Session = Readonly<v.InferOutput<typeof sessionSchema>>;

export const defaultSessionMs = 12 * 3_600_000;
/** An open page asks all the time; this is for a machine somebody walked away from. */
export const defaultIdleMs = 2 * 3_600_000;
const usualMost = 10_000;
const usualPerHolder = 20;
const noteSeenEveryMs = 60_000;
const nameBytes = 32;

/** Of people; a shared link says itself when it ends. */
export interface SessionTimes {
  readonly lengthMs?: number;
  readonly idleMs?: number;
}

export interface SessionsOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly random: (bytes: number) => Buffer;
  readonly sessionTimes?: SessionTimes;
  /** Of people, and as many of shared links: guests must not end people's sessions. */
  readonly maxSessions?: number;
  /** Of one person or token. */
  readonly maxPerHolder?: number;
}

export interface KeyedSession extends Session {
  /** What it is kept under: opens nothing. */
  readonly key: string;
}

/** What people call it by: the beginning of the digest is enough among ten thousand. */
export const idOfSession = ({ key }: Pick<KeyedSession, "key">): string => key.slice(0, 16);

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #stored: StateMap<Session>;
  /** Keys another process wants ended. */
  readonly #ends: StateMap<number>;
  readonly #maxSessions: number;
  readonly #maxPerHolder: number;
  readonly #lengthMs: number;
  readonly #idleMs: number;
  readonly #random: (bytes: number) => Buffer;
  readonly #log: Log;
  #isFailing = false;

  constructor(options: SessionsOptions) {
    const { dataDir, log, random, sessionTimes = {}, maxSessions = usualMost } = options;
    this.#maxSessions = maxSessions;
    this.#maxPerHolder = options.maxPerHolder ?? usualPerHolder;
    this.#random = random;
    this.#log = log;
    this.#lengthMs = sessionTimes.lengthMs ?? defaultSessionMs;
    this.#idleMs = sessionTimes.idleMs ?? defaultIdleMs;
    this.#stored = new StateMap(path.join(dataDir, "access", "sessions.state"), {
      log,
      shared: true,
      maxEntries: 4 * maxSessions,
      parse: (value) => {
        const parsed = v.safeParse(sessionSchema, value);
        return parsed.success ? parsed.output : undefined;
      },
    });
    this.#ends = new StateMap(path.join(dataDir, "access", "session-ends.state"), {
      log,
      shared: true,
      sync: true,
      parse: (value) => (typeof value === "number" ? value : undefined),
    });
    for (const [key, session] of this.#stored.entries()) this.#sessions.set(key, session);
    // A record that is lost may be a logout: everybody logs in again.
    if (this.#stored.damaged + this.#ends.damaged > 0) {
      for (const key of this.#sessions.keys()) this.#forget(key);
      log.warn("sessions file damaged: all users have to log in again");
    }
  }

  get lengthMs(): number {
    return this.#lengthMs;
  }

  /** The value for the cookie: another one at every login. A holder with too many loses the oldest of their own. */
  open(
    session: Pick<Session, "holder" | "name" | "scope">,
    nowMs: number,
    endsMs = nowMs + this.#lengthMs,
  ): string {
    this.#makeRoom(session.holder, nowMs);
    const value = this.#random(nameBytes).toString("base64url");
    this.#keep(digestOf(value), { ...session, openedMs: nowMs, endsMs, seenMs: nowMs });
    return value;
  }

  /** Finding it is using it. */
  find(value: string, nowMs: number): KeyedSession | undefined {
    const key = digestOf(value);
    return this.touch(key, nowMs);
  }

  /** Takes note that it is in use; undefined where it has ended. */
  touch(key: string, nowMs: number): KeyedSession | undefined {
    const session = this.#sessions.get(key);
    if (session === undefined || this.#ends.has(key) || this.#hasEnded(session, nowMs))
      return undefined;
    if (nowMs - session.seenMs >= Math.min(noteSeenEveryMs, this.#idleMs / 4))
      this.#keep(key, { ...session, seenMs: nowMs });
    return { ...session, endsMs: this.#endOf(session), key };
  }

  /** Those that have not ended, of everybody; looking is not using. */
  list(nowMs: number): KeyedSession[] {
    return [...this.#sessions]
      .filter(([key, session]) => !this.#ends.has(key) && !this.#hasEnded(session, nowMs))
      .map(([key, session]) => ({ ...session, endsMs: this.#endOf(session), key }));
  }

  /** By the cookie's value. */
  close(value: string): void {
    this.#forget(digestOf(value));
  }

  /** By what it is kept under; false where there is none. */
  end(key: string): boolean {
    const isThere = this.#sessions.has(key);
    this.#forget(key);
    return isThere;
  }

  /** For a process that is not the hub: the hub may be using what this one would delete. */
  askToEnd(key: string, nowMs: number): void {
    this.#ends.put(key, nowMs);
  }

  /** Ends what another process wants ended; true when there was anything. */
  refresh(): boolean {
    this.#ends.refresh();
    const keys = [...this.#ends.entries()].map(([key]) => key);
    for (const key of keys) {
      this.#forget(key);
      this.#write(() => void this.#ends.delete(key));
    }
    return keys.length > 0;
  }

  /** Goes on for who has changed their own account; what else the page asks meanwhile must not be refused. */
  goOnAs(key: string, holder: SessionHolder): void {
    const session = this.#sessions.get(key);
    if (session !== undefined) this.#keep(key, { ...session, holder });
  }

  /** Every session on this account. */
  closeAllOf({ kind, id }: Pick<SessionHolder, "kind" | "id">): void {
    for (const [key, { holder }] of this.#sessions)
      if (holder.kind === kind && holder.id === id) this.#forget(key);
  }

  shutdown(): void {
    this.#stored.close();
    this.#ends.close();
  }

  /** Ends the holder's own oldest sessions first, and beyond the total those of the holder with the most: nobody ends another's. */
  #makeRoom(holder: SessionHolder, nowMs: number): void {
    for (const [key, session] of this.#sessions)
      if (this.#hasEnded(session, nowMs)) this.#forget(key);
    const isShare = holder.kind === "share";
    // The map keeps the order of insertion: the first is the oldest.
    const byHolder = new Map<string, string[]>();
    let total = 0;
    for (const [key, { holder: other }] of this.#sessions) {
      if ((other.kind === "share") !== isShare) continue;
      total++;
      const keys = byHolder.get(holderKey(other));
      if (keys === undefined) byHolder.set(holderKey(other), [key]);
      else keys.push(key);
    }
    const own = byHolder.get(holderKey(holder)) ?? [];
    const over = isShare ? 0 : Math.max(0, own.length - this.#maxPerHolder + 1);
    for (const key of own.splice(0, over)) this.#forget(key);
    for (let left = total - over; left >= this.#maxSessions; left--) {
      const [most = []] = [...byHolder.values()].sort((one, other) => other.length - one.length);
      this.#forget(most.shift() ?? "");
    }
  }

  /** A length that was shortened since holds for those that are open too. */
  #endOf({ holder, openedMs, endsMs }: Session): number {
    return holder.kind === "share" ? endsMs : Math.min(endsMs, openedMs + this.#lengthMs);
  }

  #hasEnded(session: Session, nowMs: number): boolean {
    const isIdle = session.holder.kind !== "share" && nowMs - session.seenMs >= this.#idleMs;
    return isIdle || this.#endOf(session) <= nowMs;
  }

  #keep(key: string, session: Session): void {
    this.#sessions.set(key, session);
    this.#write(() => this.#stored.put(key, session));
  }

  #forget(key: string): void {
    this.#sessions.delete(key);
    this.#write(() => void this.#stored.delete(key));
  }

  #write(write: () => void): void {
    try {
      write();
      this.#isFailing = false;
    } catch (thrown) {
      if (!this.#isFailing)
        this.#log.warn("sessions not saved: a restart ends them", {
          error: formatError(thrown),
        });
      this.#isFailing = true;
    }
  }
}

const holderKey = ({ kind, id }: SessionHolder): string => `${kind} ${id}`;
