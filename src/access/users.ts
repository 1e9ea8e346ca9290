/**
 * The users of a hub: stored in `access/users.state` of its data folder, written by `gpulse user` and the hub, each of which
 * loads the other's changes at its next `refresh`. Contains password hashes only. A removed user stays as a name without a
 * password, so that a hub with authentication does not become open to everyone.
 */
import { createHmac } from "node:crypto";
import path from "node:path";
import * as v from "valibot";
import { GpulseError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { StateMap } from "../base/state/state-map.ts";
import { checkNewPassword, maxPasswordLength, Passwords, type ScryptCost } from "./password.ts";
import type { Scope } from "./scope.ts";

export const roles = ["viewer", "admin"] as const;
export type Role = (typeof roles)[number];
export const roleDescriptions: Readonly<Record<Role, string>> = {
  viewer: "see everything and change nothing",
  admin: "do everything",
};
export const scopeOfRole = (role: Role): Scope => (role === "admin" ? "admin" : "read");
export const isRole = (text: unknown): text is Role => roles.some((role) => role === text);

/** Valid user names. */
export const userName = /^[\w.@-]{1,100}$/;

const userSchema = v.object({
  name: v.string(),
  role: v.picklist(roles),
  /** Empty for a removed user. */
  hash: v.string(),
  /** Stored with each session, which ends when the two differ: after a new password or role, and when the user is logged out everywhere. */
  generation: v.number(),
  createdMs: v.number(),
  passwordMs: v.number(),
  disabledMs: v.optional(v.number()),
  removedMs: v.optional(v.number()),
});
export type User = Readonly<v.InferOutput<typeof userSchema>>;

export function readUser(value: unknown): User | undefined {
  const parsed = v.safeParse(userSchema, value);
  return parsed.success ? parsed.output : undefined;
}

export interface NewUser {
  readonly name: string;
  readonly role: Role;
  readonly password: string;
}

export type UserCheck =
  | { readonly ok: true; readonly user: User }
  | { readonly ok: false; readonly why: "password" | "busy" };

export interface UsersOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly random: (bytes: number) => Buffer;
  readonly cost?: ScryptCost;
}

const maxUsers = 10_000;
const maxRemembered = 200;

export class Users {
  readonly #users: StateMap<User>;
  readonly #used: StateMap<number>;
  readonly #passwords: Passwords;
  /** Digests of passwords found valid, keyed with a secret of this process, so that repeated requests do not cost a 128 MiB hash each. */
  readonly #right = new Set<string>();
  readonly #key: Buffer;

  constructor({ dataDir, log, random, cost }: UsersOptions) {
    const folder = path.join(dataDir, "access");
    this.#users = new StateMap(path.join(folder, "users.state"), {
      log,
      shared: true,
      sync: true,
      strict: true,
      maxEntries: maxUsers,
      parse: readUser,
    });
    this.#used = new StateMap(path.join(folder, "user-use.state"), {
      log,
      shared: true,
      maxEntries: maxUsers,
      parse: (value) => (typeof value === "number" ? value : undefined),
    });
    this.#passwords = new Passwords(random, cost);
    this.#key = random(32);
  }

  /** True once a user ever existed: removing users must not open the hub to everyone. */
  get any(): boolean {
    return this.#users.size > 0 || this.isDamaged;
  }

  /** While true, every user is refused: a lost record may be a removal or a new password. */
  get isDamaged(): boolean {
    return this.#users.isDamaged;
  }

  get anyLive(): boolean {
    return this.list().some(({ disabledMs }) => disabledMs === undefined);
  }

  list(): User[] {
    return [...this.#users.values()]
      .filter(({ removedMs }) => removedMs === undefined)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): User | undefined {
    const user = this.#users.get(keyOf(name));
    return user?.removedMs === undefined ? user : undefined;
  }

  lastLoginMs(name: string): number | undefined {
    return this.#used.get(keyOf(name));
  }

  noteLogin(name: string, nowMs: number): void {
    this.#used.put(keyOf(name), nowMs);
  }

  async add({ name, role, password }: NewUser, nowMs: number): Promise<User> {
    if (!userName.test(name))
      throw new GpulseError(
        "USER_NAME",
        `A user's name is made of letters, digits and . _ @ - and not "${name.slice(0, 100)}".`,
      );
    this.refresh();
    this.#refuseExisting(name);
    checkNewPassword(name, password);
    const hash = await this.#passwords.hash(password);
    this.#refuseExisting(name);
    const generation = (this.#users.get(keyOf(name))?.generation ?? 0) + 1;
    return this.#keep({ name, role, hash, generation, createdMs: nowMs, passwordMs: nowMs });
  }

  /** Also ends every session of this user. */
  async setPassword(name: string, password: string, nowMs: number): Promise<User> {
    const { name: right } = this.#existing(name);
    checkNewPassword(right, password);
    const hash = await this.#passwords.hash(password);
    return this.#change(name, (user) => ({ ...user, hash, passwordMs: nowMs }));
  }

  setRole(name: string, role: Role): User {
    return this.#change(name, (user) => ({ ...user, role }));
  }

  disable(name: string, nowMs: number): User {
    return this.#change(name, (user) => ({ ...user, disabledMs: user.disabledMs ?? nowMs }));
  }

  enable(name: string): User {
    return this.#change(name, ({ disabledMs: _ended, ...user }) => user);
  }

  /** Ends every session of this user and changes nothing else. */
  endSessions(name: string): User {
    return this.#change(name, (user) => user);
  }

  remove(name: string, nowMs: number): User {
    return this.#change(name, (user) => ({ ...user, hash: "", removedMs: nowMs }));
  }

  /** Returns the user if this name and password were found valid before and still are; costs no hash. */
  remembers(name: string, password: string): User | undefined {
    const user = this.#live(name);
    if (user === undefined || password.length > maxPasswordLength) return undefined;
    return this.#right.has(this.#digest(user, password)) ? user : undefined;
  }

  /** A wrong password, an unknown name and a disabled user yield the same result after the same time. */
  async check(name: string, password: string): Promise<UserCheck> {
    const remembered = this.remembers(name, password);
    if (remembered !== undefined) return { ok: true, user: remembered };
    if (this.#passwords.isBusy) return { ok: false, why: "busy" };
    const tried = this.get(name);
    const isRight = await this.#passwords.matches(password, tried?.hash);
    // The user may have changed while the hash was computed.
    const user = this.#live(name);
    if (!isRight || user === undefined || user.hash !== tried?.hash)
      return { ok: false, why: "password" };
    const strengthened = await this.#strengthen(user, password);
    const [oldest] = this.#right;
    if (this.#right.size >= maxRemembered && oldest !== undefined) this.#right.delete(oldest);
    this.#right.add(this.#digest(strengthened, password));
    return { ok: true, user: strengthened };
  }

  /** True if a session of this user is still valid. */
  stillGood(name: string, generation: number): boolean {
    return this.#live(name)?.generation === generation;
  }

  refresh(): boolean {
    this.#used.refresh();
    return this.#users.refresh();
  }

  close(): void {
    this.#users.close();
    this.#used.close();
  }

  #live(name: string): User | undefined {
    const user = this.get(name);
    return user?.disabledMs === undefined && !this.isDamaged ? user : undefined;
  }

  #existing(name: string): User {
    this.refresh();
    const user = this.get(name);
    if (user !== undefined) return user;
    throw new GpulseError(
      "USER_NAME",
      `There is no user ${name.slice(0, 100)}: gpulse user list shows them.`,
    );
  }

  #change(name: string, change: (user: User) => User): User {
    const user = this.#existing(name);
    return this.#keep({ ...change(user), generation: user.generation + 1 });
  }

  #keep(user: User): User {
    this.#users.put(keyOf(user.name), user);
    return user;
  }

  #refuseExisting(name: string): void {
    const existing = this.get(name)?.name;
    if (existing !== undefined)
      throw new GpulseError(
        "USER_NAME",
        `There is a user ${existing} already: choose another name, or change that one.`,
      );
  }

  /** Replaces a hash of lower cost. The password is only known during a login. */
  async #strengthen(user: User, password: string): Promise<User> {
    if (!this.#passwords.isWeak(user.hash)) return user;
    const hash = await this.#passwords.hash(password);
    const now = this.get(user.name);
    return now?.hash === user.hash ? this.#keep({ ...now, hash }) : user;
  }

  /** The digest includes the hash, so that a password change invalidates it. */
  #digest({ name, hash }: User, password: string): string {
    const parts = JSON.stringify([keyOf(name), hash, password]);
    return createHmac("sha256", this.#key).update(parts).digest("base64url");
  }
}

/** User names are unique regardless of case, to avoid confusion. */
const keyOf = (name: string): string => name.toLowerCase();
