/**
 * `gpulse token recover`: replaces damaged access files with usable ones without restoring any access. Readable entries are
 * retained but ended: a lost record may have been a revocation, a removal, a new password or a lower role.
 */
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { GpulseError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { markFile } from "../base/state/mark.ts";
import { scanFrames } from "../base/state/record.ts";
import { StateMap } from "../base/state/state-map.ts";
import { withFolderLock } from "../base/state/short-lock.ts";
import { readShare, type Share } from "./shares.ts";
import { readToken, type Token } from "./tokens.ts";
import { readUser, type User } from "./users.ts";
import { digestOf } from "./token.ts";

export interface RecoverOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly nowMs: number;
  readonly random: (bytes: number) => Buffer;
}

export interface RecoveredFile {
  readonly file: string;
  /** New path of the damaged file; undefined if the file was missing. */
  readonly damaged?: string;
  /** Number of entries that could be read; all of them are now ended. */
  readonly ended: number;
}

/** Returns the files that were damaged; empty if all are intact. */
export function recoverAccess(options: RecoverOptions): RecoveredFile[] {
  const { nowMs, random } = options;
  const found = [
    recoverFile<Token>("tokens.state", readToken, options, (token) => ({
      ...token,
      revokedMs: token.revokedMs ?? nowMs,
    })),
    recoverFile<User>("users.state", readUser, options, (user) => ({
      ...user,
      role: "viewer",
      hash: "",
      generation: user.generation + 1_000,
      disabledMs: user.disabledMs ?? nowMs,
    })),
    recoverFile<Share>("shares.state", readShare, options, (share) => ({
      ...share,
      revokedMs: share.revokedMs ?? nowMs,
    })),
  ].filter((one) => one !== undefined);
  if (found.length > 0) keepClosed(options, nowMs, random);
  return found;
}

function recoverFile<Value>(
  name: string,
  parse: (value: unknown) => Value | undefined,
  { dataDir, log, nowMs }: RecoverOptions,
  end: (value: Value) => Value,
): RecoveredFile | undefined {
  const file = path.join(dataDir, "access", name);
  const strict = { log, shared: true, sync: true, strict: true, parse };
  if (!existsSync(file) && !existsSync(markFile(file))) return undefined;
  try {
    new StateMap(file, strict).close();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof GpulseError) || thrown.code !== "STATE_DAMAGED") throw thrown;
  }
  const readable = existsSync(file)
    ? entriesIn(readFileSync(file), parse)
    : new Map<string, Value>();
  const damaged = `${file}.damaged-${new Date(nowMs).toISOString().replaceAll(":", "")}`;
  const wasThere = withFolderLock(path.dirname(file), () => {
    rmSync(markFile(file), { force: true });
    if (!existsSync(file)) return false;
    renameSync(file, damaged);
    return true;
  });
  const map = new StateMap<Value>(file, strict);
  for (const [key, value] of readable) map.put(key, end(value));
  map.close();
  return { file, ended: readable.size, ...(wasThere ? { damaged } : {}) };
}

/** Returns the last readable version of each entry, deleted ones included. */
function entriesIn<Value>(
  bytes: Buffer,
  parse: (value: unknown) => Value | undefined,
): Map<string, Value> {
  const entries = new Map<string, Value>();
  scanFrames(bytes, ({ payload }) => {
    const record: unknown = JSON.parse(payload.toString("utf8"));
    if (!Array.isArray(record)) return;
    const [what, key, given] = record as readonly unknown[];
    const value = what === "put" ? parse(given) : undefined;
    if (typeof key === "string" && value !== undefined) entries.set(key, value);
  });
  return entries;
}

/** A hub without any token allows access on loopback. A revoked placeholder token, never handed out, prevents that. */
function keepClosed(
  { dataDir, log }: RecoverOptions,
  nowMs: number,
  random: (bytes: number) => Buffer,
): void {
  const map = new StateMap<Token>(path.join(dataDir, "access", "tokens.state"), {
    log,
    shared: true,
    sync: true,
    strict: true,
    parse: readToken,
  });
  const id = random(6).toString("hex");
  if (map.size === 0)
    map.put(id, {
      id,
      name: "recovered",
      scope: "read",
      digest: digestOf(random(32).toString("hex")),
      createdMs: nowMs,
      revokedMs: nowMs,
    });
  map.close();
}
