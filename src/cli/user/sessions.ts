/** Runs `gpulse user sessions` and `gpulse user logout`: lists and ends login sessions of the page, of whatever kind. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { type AccessState, closeAccess, openAccess } from "../../access/open.ts";
import { idOfSession, type KeyedSession } from "../../access/sessions.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { resolveSettings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { recordChange } from "../audit/run.ts";
import { alignColumns } from "../table.ts";
import type { UserFlags } from "./run.ts";

export async function listSessions(flags: UserFlags, io: CommandIo): Promise<number> {
  return withAccess(flags, io, (access) => {
    const sessions = access === undefined ? [] : liveOf(access, Date.now());
    if (flags.json === true)
      io.stdout.write(`${JSON.stringify(sessions.map(sessionOutput), null, 2)}\n`);
    else if (sessions.length === 0) io.stdout.write("No user is logged in.\n");
    else
      io.stdout.write(
        alignColumns([
          ["NAME", "LOGIN", "ROLE", "SINCE", "LAST SEEN", "EXPIRES", "ID"],
          ...sessions.map(row),
        ]),
      );
  });
}

/** Ends all sessions under this name: of a local user, an OpenID provider, a token or the web configuration file. */
export async function logOut(name: string, flags: UserFlags, io: CommandIo): Promise<number> {
  return withAccess(flags, io, (access, dataDir) => {
    const isThem = (one: { readonly name: string }): boolean =>
      one.name.toLowerCase() === name.toLowerCase();
    const nowMs = Date.now();
    const theirs = access === undefined ? [] : liveOf(access, nowMs).filter(isThem);
    const user = access?.accounts.get(name);
    if (access === undefined || (user === undefined && theirs.length === 0))
      throw new GpulseError(
        "USER_NAME",
        `Nobody called ${name.slice(0, 100)} is logged in, and no user is called so: gpulse user sessions and gpulse user list show them.`,
      );
    if (user !== undefined) access.accounts.endSessions(name);
    for (const { key } of theirs) access.sessions.askToEnd(key, nowMs);
    const called = user?.name ?? theirs[0]?.name ?? name;
    recordChange(dataDir, io, "user logout", called);
    if (flags.json === true)
      io.stdout.write(`${JSON.stringify({ name: called, ended: theirs.length }, null, 2)}\n`);
    else io.stdout.write(`The sessions of ${called} are ended.\n`);
  });
}

async function withAccess(
  flags: UserFlags,
  io: CommandIo,
  work: (access: AccessState | undefined, dataDir: string) => void,
): Promise<number> {
  const settings = await resolveSettings("hub", flags, io.env);
  const { dataDir } = settings;
  // Reading sessions does not create a missing data folder.
  const access = existsSync(path.join(dataDir, "access"))
    ? openAccess({
        dataDir,
        log: commandLog(io, "warn", false),
        random: randomBytes,
        sessionTimes: settings.access.sessionTimes ?? {},
      })
    : undefined;
  try {
    work(access, dataDir);
  } finally {
    if (access !== undefined) closeAccess(access);
  }
  return 0;
}

/** The live sessions, as far as the data folder shows: passwords of a web configuration file are not checked. */
const liveOf = ({ sessions, accounts, tokens }: AccessState, nowMs: number): KeyedSession[] =>
  sessions.list(nowMs).filter(({ holder }) => {
    if (holder.kind === "user") return accounts.stillGood(holder.id, holder.generation);
    if (holder.kind === "token") return tokens.stillGood(holder.id, nowMs);
    return holder.kind !== "share";
  });

const says = {
  user: "password",
  oidc: "provider",
  token: "token",
  "file-user": "web configuration file",
  share: "link",
} as const;

const iso = (ms: number): string => new Date(ms).toISOString();
const brief = (ms: number): string => iso(ms).slice(0, 19).replace("T", " ");

const row = (session: KeyedSession): string[] => [
  session.name,
  says[session.holder.kind],
  session.scope,
  brief(session.openedMs),
  brief(session.seenMs),
  brief(session.endsMs),
  idOfSession(session),
];

const sessionOutput = (session: KeyedSession) => ({
  id: idOfSession(session),
  name: session.name,
  how: session.holder.kind,
  scope: session.scope,
  opened: iso(session.openedMs),
  seen: iso(session.seenMs),
  ends: iso(session.endsMs),
});
