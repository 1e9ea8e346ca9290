/** Runs `gpulse token`. A token's text is printed once, by `add`, and nowhere else. */
import { countOf } from "../command/quantity.ts";
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
      `The name of a token consists of letters, digits and . _ @ -, not "${name.slice(0, 100)}".`,
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
          `The token is shown only once. It may ${scopeDescriptions[scope]}${expiresMs === undefined ? "" : `, until ${iso(expiresMs)}`}.\n` +
          `${scope === "push" ? "Start an agent with it on the machine" : "Use it like this"}:\n\n  ${line}\n`,
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
        `There are no tokens in ${settings.dataDir}. Create one with gpulse token add NAME --scope ${scopes.join("|")}.\n`,
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
    io.stdout.write(
      `The files of tokens, users and links in ${dataDir} are intact. Nothing was changed.\n`,
    );
  else {
    for (const { file, damaged, ended } of recovered)
      io.stdout.write(
        `${file}: ${countOf(ended, "entry", "entries")} recovered and disabled${damaged === undefined ? "" : `; the damaged file was moved to ${damaged}`}.\n`,
      );
    io.stdout.write(
      "Create new tokens with gpulse token add. Restore users with gpulse user password NAME, gpulse user role NAME ROLE and gpulse user enable NAME.\n",
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
/** Reading tokens does not create a missing data folder. */
async function open(flags: FlagValues, io: CommandIo, onlyRead = false) {
  const settings = await resolveSettings("hub", flags, io.env);
  const { dataDir } = settings;
  if (onlyRead && !existsSync(path.join(dataDir, "access"))) return { settings, tokens: undefined };
  return { settings, tokens: new Tokens({ dataDir, log: commandLog(io, "warn", false) }) };
}

/** Provisioning creates a token to give both sides the same one: it is passed in a file, never on the command line. */
function readGiven(given: string, scope: Scope): Secret {
  if (!given.startsWith("file:"))
    throw new GpulseError(
      "USAGE",
      "--token takes file:PATH. A token on the command line would be visible in the list of processes.",
    );
  const file = given.slice("file:".length);
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (thrown) {
    throw new GpulseError(
      "FILE_UNREADABLE",
      `--token: cannot read the file ${file} (${systemCode(thrown) ?? "error"}). Check the path and its permissions.`,
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

/** Times in ISO 8601; never the digest. */
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
