/**
 * Login sessions of the page: random cookie values, stored as SHA-256 in `access/sessions.state`, so that users stay logged in
 * across restarts of the hub and the file grants no access. On disk errors sessions continue in memory. Other processes request
 * the end of a session in `access/session-ends.state`; only the hub changes the first file, and applies these requests at its
 * next `refresh`.
 */
import path from "node:path";
import * as v from "valibot";
import { formatError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { StateMap } from "../base/state/state-map.ts";
import { scopes } from "./scope.ts";
import { digestOf } from "./token.ts";

/** The account of the session: the session ends with it. */
const holderSchema = v.variant("kind", [
  v.object({ kind: v.literal("token"), id: v.string() }),
  v.object({ kind: v.literal("user"), id: v.string(), generation: v.number() }),
  /** A user of the web configuration file; `stamp` changes with the password. */
  v.object({ kind: v.literal("file-user"), id: v.string(), stamp: v.string() }),
  /** A user authenticated by an OpenID provider. */
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
/** An open page polls continuously; this ends sessions on unattended machines. */
export const defaultIdleMs = 2 * 3_600_000;
const usualMost = 10_000;
const usualPerHolder = 20;
const noteSeenEveryMs = 60_000;
const nameBytes = 32;

/** For users; a share link has its own end time. */
export interface SessionTimes {
  readonly lengthMs?: number;
  readonly idleMs?: number;
}

export interface SessionsOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly random: (bytes: number) => Buffer;
  readonly sessionTimes?: SessionTimes;
  /** Limit for user sessions, and separately for share sessions: guests must not evict users. */
  readonly maxSessions?: number;
  /** Limit per user or token. */
  readonly maxPerHolder?: number;
}

export interface KeyedSession extends Session {
  /** SHA-256 of the cookie value; grants no access. */
  readonly key: string;
}

/** The public id of a session: a prefix of the digest is unique enough among ten thousand. */
export const idOfSession = ({ key }: Pick<KeyedSession, "key">): string => key.slice(0, 16);

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #stored: StateMap<Session>;
  /** Keys of sessions another process wants ended. */
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
    // A lost record may be a logout, so all users have to log in again.
    if (this.#stored.damaged + this.#ends.damaged > 0) {
      for (const key of this.#sessions.keys()) this.#forget(key);
      log.warn("sessions file damaged: all users have to log in again");
    }
  }

  get lengthMs(): number {
    return this.#lengthMs;
  }

  /** Opens a session and returns its cookie value, which is new at every login. A holder at the limit loses their own oldest session. */
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

  /** Looks up a session and marks it as used. */
  find(value: string, nowMs: number): KeyedSession | undefined {
    const key = digestOf(value);
    return this.touch(key, nowMs);
  }

  /** Marks a session as used; undefined if it has ended. */
  touch(key: string, nowMs: number): KeyedSession | undefined {
    const session = this.#sessions.get(key);
    if (session === undefined || this.#ends.has(key) || this.#hasEnded(session, nowMs))
      return undefined;
    if (nowMs - session.seenMs >= Math.min(noteSeenEveryMs, this.#idleMs / 4))
      this.#keep(key, { ...session, seenMs: nowMs });
    return { ...session, endsMs: this.#endOf(session), key };
  }

  /** Returns all live sessions without marking them as used. */
  list(nowMs: number): KeyedSession[] {
    return [...this.#sessions]
      .filter(([key, session]) => !this.#ends.has(key) && !this.#hasEnded(session, nowMs))
      .map(([key, session]) => ({ ...session, endsMs: this.#endOf(session), key }));
  }

  /** Closes the session with this cookie value. */
  close(value: string): void {
    this.#forget(digestOf(value));
  }

  /** Ends the session with this key; false if there is none. */
  end(key: string): boolean {
    const isThere = this.#sessions.has(key);
    this.#forget(key);
    return isThere;
  }

  /** For processes other than the hub, which may be using the session. */
  askToEnd(key: string, nowMs: number): void {
    this.#ends.put(key, nowMs);
  }

  /** Ends the sessions that other processes requested to end; true if there were any. */
  refresh(): boolean {
    this.#ends.refresh();
    const keys = [...this.#ends.entries()].map(([key]) => key);
    for (const key of keys) {
      this.#forget(key);
      this.#write(() => void this.#ends.delete(key));
    }
    return keys.length > 0;
  }

  /** Continues the session of a user who has just changed their own account, so that the page's concurrent requests are not refused. */
  goOnAs(key: string, holder: SessionHolder): void {
    const session = this.#sessions.get(key);
    if (session !== undefined) this.#keep(key, { ...session, holder });
  }

  /** Closes every session of this account. */
  closeAllOf({ kind, id }: Pick<SessionHolder, "kind" | "id">): void {
    for (const [key, { holder }] of this.#sessions)
      if (holder.kind === kind && holder.id === id) this.#forget(key);
  }

  shutdown(): void {
    this.#stored.close();
    this.#ends.close();
  }

  /** Ends the holder's own oldest sessions first; above the total limit, those of the holder with the most sessions. */
  #makeRoom(holder: SessionHolder, nowMs: number): void {
    for (const [key, session] of this.#sessions)
      if (this.#hasEnded(session, nowMs)) this.#forget(key);
    const isShare = holder.kind === "share";
    // Maps iterate in insertion order: the first entry is the oldest.
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

  /** A session length shortened in the settings also applies to open sessions. */
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
