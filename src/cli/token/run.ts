/** Runs `gpulse token`. A token's text is printed once, by `add`, and nowhere else. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { recoverAccess } from "../../access/recover.ts";
import { isScope, type Scope, scopeDescriptions, scopes } from "../../access/scope.ts";
import { findTokenProblem } from "../../access/token.ts";
import { type Token, Tokens, tokenStateOf } from "../../access/tokens.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { type FlagValues, resolveSettings, type Settings } from "../command/settings.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError, systemCode } from "../../base/error.ts";
import { Secret } from "../../net/http/secret.ts";
import { recordChange } from "../audit/run.ts";
import { alignColumns } from "../table.ts";
import { hubUrl, readUrl } from "./hub-url.ts";

export interface TokenFlags extends FlagValues {
  readonly json?: boolean;
}

export interface TokenAddFlags extends TokenFlags {
  readonly scope?: string;
  readonly expires?: string;
  readonly url?: string;
  /** `file:PATH` of a token created elsewhere. */
  readonly token?: string;
}

export async function addToken(name: string, flags: TokenAddFlags, io: CommandIo): Promise<number> {
  if (!/^[\w.@-]{1,100}$/.test(name))
    throw new GpulseError(
      "TOKEN_NAME",
      `A token's name is made of letters, digits and . _ @ - and not "${name.slice(0, 100)}".`,
    );
  const { url: given, token: givenToken, ...rest } = flags;
  const scope = readScope(flags.scope);
  const nowMs = Date.now();
  const expiresMs = readExpiry(flags.expires, nowMs);
  const url = readUrl(given);
  const text = givenToken === undefined ? undefined : readGiven(givenToken, scope);
  const { settings, tokens } = await open(rest, io);
  try {
    const wanted = { name, scope, ...(expiresMs === undefined ? {} : { expiresMs }) };
    const { token, text: made } = tokens.add(wanted, nowMs, randomBytes, text);
    recordChange(settings.dataDir, io, `token add --scope ${scope}`, name);
    const line = lineFor(
      scope,
      url ?? hubUrl(settings),
      text === undefined ? made.reveal() : "file:PATH",
    );
    if (flags.json === true)
      print(io, {
        ...tokenOutput(token, nowMs, undefined),
        ...(text === undefined ? { token: made.reveal() } : {}),
        use: line,
      });
    else if (text !== undefined)
      io.stdout.write(
        `${name} is the token in ${givenToken ?? ""}: ${scopeDescriptions[scope]}.\n`,
      );
    else
      io.stdout.write(
        `${made.reveal()}\n\n` +
          `This is the only time it is shown. It may ${scopeDescriptions[scope]}${expiresMs === undefined ? "" : `, until ${iso(expiresMs)}`}.\n` +
          `${scope === "push" ? "Add a machine with this line, run there" : "Use it such as"}:\n\n  ${line}\n`,
      );
  } finally {
    tokens.close();
  }
  return 0;
}

export async function listTokens(flags: TokenFlags, io: CommandIo): Promise<number> {
  const { settings, tokens } = await open(flags, io, true);
  const nowMs = Date.now();
  const list = tokens?.list() ?? [];
  try {
    if (flags.json === true)
      print(
        io,
        list.map((token) => tokenOutput(token, nowMs, tokens?.lastUsedMs(token.id))),
      );
    else if (list.length === 0)
      io.stdout.write(
        `There is no token in ${settings.dataDir}: gpulse token add NAME --scope ${scopes.join("|")} makes one.\n`,
      );
    else
      io.stdout.write(
        alignColumns([
          ["NAME", "ID", "SCOPE", "STATE", "CREATED", "EXPIRES", "LAST USED"],
          ...list.map((token) => row(token, nowMs, tokens?.lastUsedMs(token.id))),
        ]),
      );
  } finally {
    tokens?.close();
  }
  return 0;
}

export async function revokeToken(name: string, flags: TokenFlags, io: CommandIo): Promise<number> {
  const { settings, tokens } = await open(flags, io);
  try {
    const nowMs = Date.now();
    const token = tokens.revoke(name, nowMs);
    recordChange(settings.dataDir, io, "token revoke", token.name);
    if (flags.json === true) print(io, tokenOutput(token, nowMs, tokens.lastUsedMs(token.id)));
    else io.stdout.write(`${token.name} (${token.id}) is revoked.\n`);
  } finally {
    tokens.close();
  }
  return 0;
}

export async function recoverTokens(flags: TokenFlags, io: CommandIo): Promise<number> {
  const { dataDir } = await resolveSettings("hub", flags, io.env);
  const log = commandLog(io, "warn", false);
  const recovered = recoverAccess({ dataDir, log, nowMs: Date.now(), random: randomBytes });
  for (const { file } of recovered) recordChange(dataDir, io, "token recover", path.basename(file));
  if (flags.json === true) print(io, recovered);
  else if (recovered.length === 0)
    io.stdout.write(`No file of access in ${dataDir} is damaged: nothing was changed.\n`);
  else {
    for (const { file, damaged, ended } of recovered)
      io.stdout.write(
        `${file}: ${ended} entries were read and ended${damaged === undefined ? "" : `; the damaged file is ${damaged}`}.\n`,
      );
    io.stdout.write(
      "Make new tokens with gpulse token add. Users: gpulse user password NAME, gpulse user role NAME ROLE, gpulse user enable NAME.\n",
    );
  }
  return 0;
}

async function open(
  flags: FlagValues,
  io: CommandIo,
): Promise<{ settings: Settings; tokens: Tokens }>;
async function open(
  flags: FlagValues,
  io: CommandIo,
  onlyRead: true,
): Promise<{ settings: Settings; tokens: Tokens | undefined }>;
/** Looking for tokens makes no data folder where there is none. */
async function open(flags: FlagValues, io: CommandIo, onlyRead = false) {
  const settings = await resolveSettings("hub", flags, io.env);
  const { dataDir } = settings;
  if (onlyRead && !existsSync(path.join(dataDir, "access"))) return { settings, tokens: undefined };
  return { settings, tokens: new Tokens({ dataDir, log: commandLog(io, "warn", false) }) };
}

/** Provisioning makes tokens of its own, to hand the same one to both sides: it is in a file, never on the command line. */
function readGiven(given: string, scope: Scope): Secret {
  if (!given.startsWith("file:"))
    throw new GpulseError(
      "USAGE",
      "--token takes file:PATH: a token on the command line is seen by everybody who lists processes.",
    );
  const file = given.slice("file:".length);
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (thrown) {
    throw new GpulseError(
      "FILE_UNREADABLE",
      `--token: the file ${file} cannot be read (${systemCode(thrown) ?? "error"}).`,
      { cause: thrown },
    );
  }
  const why = findTokenProblem(text, scope);
  if (why === undefined) return new Secret(text);
  throw new GpulseError(
    "TOKEN_TEXT",
    `The token in ${file} ${why}: it must be gpulse_${scope}_ and 32 random bytes in base64url, as from  printf 'gpulse_${scope}_%s' "$(openssl rand -base64 32 | tr +/ -_ | tr -d =)".`,
  );
}

function readScope(given: string | undefined): Scope {
  const scope = given ?? "push";
  if (isScope(scope)) return scope;
  throw new GpulseError("USAGE", `--scope must be one of ${scopes.join(", ")}, not "${scope}".`);
}

function readExpiry(given: string | undefined, nowMs: number): number | undefined {
  if (given === undefined) return undefined;
  const ms = parseDurationMs(given);
  if (ms === undefined || ms <= 0 || ms > 100 * 365 * 86_400_000)
    throw new GpulseError(
      "USAGE",
      `--expires must be a duration such as 30d, not "${given.slice(0, 60)}".`,
    );
  return nowMs + ms;
}

function lineFor(scope: Scope, url: string, token: string): string {
  if (scope === "push") return `gpulse agent --push ${url} --token ${token}`;
  return scope === "read"
    ? `curl -H 'Authorization: Bearer ${token}' '${url}/api/v1/query?query=gpu_power_watts'`
    : `GPULSE_TOKEN=${token} gpulse backup create FOLDER --url ${url}`;
}

const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace("T", " ");

function row(token: Token, nowMs: number, usedMs: number | undefined): string[] {
  const { name, id, scope, createdMs, expiresMs } = token;
  return [
    name,
    id,
    scope,
    tokenStateOf(token, nowMs),
    iso(createdMs),
    expiresMs === undefined ? "never" : iso(expiresMs),
    usedMs === undefined ? "never" : iso(usedMs),
  ];
}

/** Times as a program reads them; never the digest, which is of use to nobody. */
function tokenOutput(token: Token, nowMs: number, usedMs: number | undefined) {
  const time = (ms: number | undefined): string | null =>
    ms === undefined ? null : new Date(ms).toISOString();
  return {
    id: token.id,
    name: token.name,
    scope: token.scope,
    state: tokenStateOf(token, nowMs),
    created: time(token.createdMs),
    expires: time(token.expiresMs),
    revoked: time(token.revokedMs),
    lastUsed: time(usedMs),
  };
}

const print = (io: CommandIo, value: unknown): void =>
  void io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
