/**
 * Who is logged in to the page: a random name in a cookie, kept as its SHA-256 in `access/sessions.state`, so that a restart
 * of the hub throws nobody out and the file opens nothing. A disk that refuses keeps nobody out either: memory is enough.
 */
import path from "node:path";
import * as v from "valibot";
import { sayError } from "../errors/error.ts";
import type { Log } from "../log/log.ts";
import { StateMap } from "../state/state-map.ts";
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
export type Holder = Readonly<v.InferOutput<typeof holderSchema>>;

const sessionSchema = v.object({
  holder: holderSchema,
  name: v.string(),
  scope: v.picklist(scopes),
  openedMs: v.number(),
  endsMs: v.number(),
  seenMs: v.number(),
});
export type Session = Readonly<v.InferOutput<typeof sessionSchema>>;

export const sessionMs = 12 * 3_600_000;
/** An open page asks all the time; this is for a machine somebody walked away from. */
export const idleMs = 2 * 3_600_000;
/** Of people, and as many of shared links: who has a link must not throw people out. */
const maxSessions = 1_000;
const noteSeenEveryMs = 60_000;
const nameBytes = 32;

export interface SessionsOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly random: (bytes: number) => Buffer;
}

export interface FoundSession extends Session {
  /** What it is kept under: opens nothing. */
  readonly key: string;
}

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #kept: StateMap<Session>;
  readonly #random: (bytes: number) => Buffer;
  readonly #log: Log;
  #told = false;

  constructor({ dataDir, log, random }: SessionsOptions) {
    this.#random = random;
    this.#log = log;
    this.#kept = new StateMap(path.join(dataDir, "access", "sessions.state"), {
      log,
      maxEntries: 4 * maxSessions,
      parse: (value) => {
        const parsed = v.safeParse(sessionSchema, value);
        return parsed.success ? parsed.output : undefined;
      },
    });
    for (const [key, session] of this.#kept.entries()) this.#sessions.set(key, session);
  }

  /** The value for the cookie: another one at every login. When there are too many, the oldest has to log in again. */
  open(
    session: Pick<Session, "holder" | "name" | "scope">,
    nowMs: number,
    endsMs = nowMs + sessionMs,
  ): string {
    this.#makeRoom(session.holder.kind === "share", nowMs);
    const value = this.#random(nameBytes).toString("base64url");
    this.#keep(digestOf(value), { ...session, openedMs: nowMs, endsMs, seenMs: nowMs });
    return value;
  }

  /** Finding it is using it. */
  find(value: string, nowMs: number): FoundSession | undefined {
    const key = digestOf(value);
    return this.touch(key, nowMs);
  }

  /** Takes note that it is in use; undefined where it has ended. */
  touch(key: string, nowMs: number): FoundSession | undefined {
    const session = this.#sessions.get(key);
    if (session === undefined || hasEnded(session, nowMs)) return undefined;
    if (nowMs - session.seenMs >= noteSeenEveryMs) this.#keep(key, { ...session, seenMs: nowMs });
    return { ...session, key };
  }

  /** By the cookie's value. */
  close(value: string): void {
    this.#forget(digestOf(value));
  }

  /** Goes on for who has changed their own account; what else the page asks meanwhile must not be refused. */
  goOnAs(key: string, holder: Holder): void {
    const session = this.#sessions.get(key);
    if (session !== undefined) this.#keep(key, { ...session, holder });
  }

  /** Every session on this account. */
  closeAllOf({ kind, id }: Pick<Holder, "kind" | "id">): void {
    for (const [key, { holder }] of this.#sessions)
      if (holder.kind === kind && holder.id === id) this.#forget(key);
  }

  countOf({ kind, id }: Pick<Holder, "kind" | "id">, nowMs: number): number {
    return [...this.#sessions.values()].filter(
      (session) =>
        session.holder.kind === kind && session.holder.id === id && !hasEnded(session, nowMs),
    ).length;
  }

  shutdown(): void {
    this.#kept.close();
  }

  /** The map keeps the order of insertion: the first is the oldest. */
  #makeRoom(ofShares: boolean, nowMs: number): void {
    for (const [key, session] of this.#sessions) if (hasEnded(session, nowMs)) this.#forget(key);
    const alike = [...this.#sessions].filter(
      ([, { holder }]) => (holder.kind === "share") === ofShares,
    );
    for (const [key] of alike.slice(0, Math.max(0, alike.length - maxSessions + 1)))
      this.#forget(key);
  }

  #keep(key: string, session: Session): void {
    this.#sessions.set(key, session);
    this.#write(() => this.#kept.put(key, session));
  }

  #forget(key: string): void {
    this.#sessions.delete(key);
    this.#write(() => void this.#kept.delete(key));
  }

  #write(write: () => void): void {
    try {
      write();
      this.#told = false;
    } catch (thrown) {
      if (!this.#told)
        this.#log.warn("sessions are not kept, a restart ends them", { trouble: sayError(thrown) });
      this.#told = true;
    }
  }
}

const hasEnded = ({ endsMs, seenMs, holder }: Session, nowMs: number): boolean =>
  endsMs <= nowMs || (holder.kind !== "share" && nowMs - seenMs >= idleMs);
