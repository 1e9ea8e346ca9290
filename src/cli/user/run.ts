/** Runs `gpulse user`. Passwords are read, hashed and discarded, and never printed. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import {
  isRole,
  type Role,
  roleDescriptions,
  roles,
  type User,
  Users,
} from "../../access/users.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { recordChange } from "../audit/run.ts";
import { alignColumns } from "../table.ts";
import { readPassword } from "./read-password.ts";

export interface UserFlags extends FlagValues {
  readonly json?: boolean;
}
export interface UserPasswordFlags extends UserFlags {
  /** `file:PATH`. */
  readonly password?: string;
}
export interface UserAddFlags extends UserPasswordFlags {
  readonly role?: string;
}

export async function addUser(name: string, flags: UserAddFlags, io: CommandIo): Promise<number> {
  const role = readRole(flags.role ?? "viewer");
  const { password: given, ...rest } = flags;
  return withUsers(rest, io, async (users, dataDir) => {
    // Checked before the user types a password in vain.
    if (users.get(name) !== undefined)
      throw new GpulseError(
        "USER_NAME",
        `There is a user ${name} already: gpulse user password ${name} changes the password.`,
      );
    const password = await readPassword(given, name, { ...io, stdin: process.stdin });
    const user = await users.add({ name, role, password }, Date.now());
    recordChange(dataDir, io, `user add --role ${role}`, user.name);
    printUser(
      io,
      flags,
      users,
      user,
      `${user.name} is a user now, and may ${roleDescriptions[role]}.`,
    );
  });
}

export async function listUsers(flags: UserFlags, io: CommandIo): Promise<number> {
  const { dataDir } = await resolveSettings("hub", flags, io.env);
  const none = `There is no user in ${dataDir}: gpulse user add NAME --role ${roles.join("|")} creates one.\n`;
  // Listing users does not create a missing data folder.
  if (!existsSync(path.join(dataDir, "access"))) {
    io.stdout.write(flags.json === true ? "[]\n" : none);
    return 0;
  }
  return withUsers(flags, io, async (users) => {
    const list = users.list();
    if (flags.json === true)
      print(
        io,
        list.map((user) => userOutput(user, users)),
      );
    else if (list.length === 0) io.stdout.write(none);
    else
      io.stdout.write(
        alignColumns([
          ["NAME", "ROLE", "STATE", "CREATED", "PASSWORD SINCE", "LAST LOGIN"],
          ...list.map((user) => row(user, users)),
        ]),
      );
  });
}

export async function changePassword(
  name: string,
  flags: UserPasswordFlags,
  io: CommandIo,
): Promise<number> {
  const { password: given, ...rest } = flags;
  return withUsers(rest, io, async (users, dataDir) => {
    if (users.get(name) === undefined) throw unknown(name);
    const password = await readPassword(given, name, { ...io, stdin: process.stdin });
    const user = await users.setPassword(name, password, Date.now());
    recordChange(dataDir, io, "user password", user.name);
    printUser(io, flags, users, user, `${user.name} has a new password. Its sessions were ended.`);
  });
}

export type UserVerb = "role" | "disable" | "enable" | "remove";

export async function changeUser(
  verb: UserVerb,
  name: string,
  flags: UserFlags,
  io: CommandIo,
  given = "",
): Promise<number> {
  const role = verb === "role" ? readRole(given) : "viewer";
  return withUsers(flags, io, async (users, dataDir) => {
    const nowMs = Date.now();
    const [user, says] = {
      role: () => [users.setRole(name, role), `may ${roleDescriptions[role]} now`] as const,
      disable: () => [users.disable(name, nowMs), "is disabled"] as const,
      enable: () => [users.enable(name), "may log in again"] as const,
      remove: () => [users.remove(name, nowMs), "is removed"] as const,
    }[verb]();
    recordChange(dataDir, io, verb === "role" ? `user role ${role}` : `user ${verb}`, user.name);
    printUser(io, flags, users, user, `${user.name} ${says}.`);
  });
}

async function withUsers(
  flags: FlagValues,
  io: CommandIo,
  work: (users: Users, dataDir: string) => Promise<void>,
): Promise<number> {
  const { dataDir } = await resolveSettings("hub", flags, io.env);
  const log = commandLog(io, "warn", false);
  const users = new Users({ dataDir, log, random: randomBytes });
  try {
    await work(users, dataDir);
  } finally {
    users.close();
  }
  return 0;
}

function readRole(given: string): Role {
  if (isRole(given)) return given;
  throw new GpulseError(
    "USAGE",
    `The role must be one of ${roles.join(", ")}, not "${given.slice(0, 60)}".`,
  );
}

const unknown = (name: string): GpulseError =>
  new GpulseError(
    "USER_NAME",
    `There is no user ${name.slice(0, 100)}: gpulse user list shows them.`,
  );

const iso = (ms: number | undefined): string =>
  ms === undefined ? "never" : new Date(ms).toISOString().slice(0, 19).replace("T", " ");

const stateOfUser = ({ disabledMs, removedMs }: User): string =>
  removedMs !== undefined ? "removed" : disabledMs === undefined ? "live" : "disabled";

const row = (user: User, users: Users): string[] => [
  user.name,
  user.role,
  stateOfUser(user),
  iso(user.createdMs),
  iso(user.passwordMs),
  iso(users.lastLoginMs(user.name)),
];

/** Never includes the hash. */
function userOutput(user: User, users: Users) {
  const time = (ms: number | undefined): string | null =>
    ms === undefined ? null : new Date(ms).toISOString();
  return {
    name: user.name,
    role: user.role,
    state: stateOfUser(user),
    created: time(user.createdMs),
    passwordChanged: time(user.passwordMs),
    lastLogin: time(users.lastLoginMs(user.name)),
  };
}

function printUser(
  io: CommandIo,
  { json }: UserFlags,
  users: Users,
  user: User,
  sentence: string,
): void {
  if (json === true) print(io, userOutput(user, users));
  else io.stdout.write(`${sentence}\n`);
}

const print = (io: CommandIo, value: unknown): void =>
  void io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
