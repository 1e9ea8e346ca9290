/** Runs `gpulse share`. A link's secret is printed once, by `add`, and nowhere else. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { defaultShareMs, maxShareMs, type Share, Shares } from "../../access/shares.ts";
import { tokenStateOf } from "../../access/tokens.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import { pagePath } from "../../hub/auth/share-page.ts";
import { recordChange } from "../audit/run.ts";
import { alignColumns } from "../table.ts";
import { hubUrl, readUrl } from "../token/hub-url.ts";

export interface ShareFlags extends FlagValues {
  readonly json?: boolean;
}
export interface ShareAddFlags extends ShareFlags {
  readonly name?: string;
  readonly page?: string;
  readonly expires?: string;
  readonly url?: string;
}

export async function addShare(flags: ShareAddFlags, io: CommandIo): Promise<number> {
  const nowMs = Date.now();
  const { name = "shared view", page: givenPage = "/", url: given, ...rest } = flags;
  const page = pagePath(givenPage);
  if (page === undefined)
    throw new GpulseError(
      "USAGE",
      `--page must be a page of the hub such as /gpu?uuid=GPU-1, not "${givenPage.slice(0, 200)}".`,
    );
  const expiresMs = readExpiry(flags.expires, nowMs);
  const url = readUrl(given);
  const settings = await resolveSettings("hub", rest, io.env);
  const shares = new Shares({ dataDir: settings.dataDir, log: commandLog(io, "warn", false) });
  try {
    const createdBy = `${userInfo().username}, on the command line`;
    const { share, secret } = shares.add({ name, page, createdBy, expiresMs }, nowMs, randomBytes);
    recordChange(settings.dataDir, io, "share add", `${name} (${share.id})`);
    const link = `${url ?? hubUrl(settings)}/share#${secret.reveal()}`;
    if (flags.json === true) print(io, { ...shareOutput(share, shares, nowMs), link });
    else {
      const guess =
        url === undefined && settings.alerting.externalUrl === undefined
          ? " Its address is this machine's own name: --url names the one that readers use."
          : "";
      io.stdout.write(
        `${link}\n\nThe link is shown only once. Everyone who has it can view the page until ${iso(expiresMs)}. Revoke it with gpulse share revoke ${share.id}.${guess}\n`,
      );
    }
  } finally {
    shares.close();
  }
  return 0;
}

export async function listShares(flags: ShareFlags, io: CommandIo): Promise<number> {
  const { dataDir } = await resolveSettings("hub", flags, io.env);
  const nowMs = Date.now();
  const none = `There is no share in ${dataDir}: gpulse share add creates one.\n`;
  if (!existsSync(path.join(dataDir, "access"))) {
    io.stdout.write(flags.json === true ? "[]\n" : none);
    return 0;
  }
  const shares = new Shares({ dataDir, log: commandLog(io, "warn", false) });
  try {
    const list = shares.list();
    if (flags.json === true)
      print(
        io,
        list.map((share) => shareOutput(share, shares, nowMs)),
      );
    else if (list.length === 0) io.stdout.write(none);
    else
      io.stdout.write(
        alignColumns([
          ["NAME", "ID", "PAGE", "STATE", "EXPIRES", "OPENED", "LAST OPENED"],
          ...list.map((share) => row(share, shares, nowMs)),
        ]),
      );
  } finally {
    shares.close();
  }
  return 0;
}

export async function revokeShare(name: string, flags: ShareFlags, io: CommandIo): Promise<number> {
  const { dataDir } = await resolveSettings("hub", flags, io.env);
  const shares = new Shares({ dataDir, log: commandLog(io, "warn", false) });
  try {
    const nowMs = Date.now();
    const share = shares.revoke(name, nowMs);
    recordChange(dataDir, io, "share revoke", `${share.name} (${share.id})`);
    if (flags.json === true) print(io, shareOutput(share, shares, nowMs));
    else io.stdout.write(`${share.name} (${share.id}) is revoked.\n`);
  } finally {
    shares.close();
  }
  return 0;
}

function readExpiry(given: string | undefined, nowMs: number): number {
  const ms = given === undefined ? defaultShareMs : parseDurationMs(given);
  if (ms === undefined || ms <= 0 || ms > maxShareMs)
    throw new GpulseError(
      "USAGE",
      `--expires must be a duration of at most 90d, such as 7d, not "${(given ?? "").slice(0, 60)}".`,
    );
  return nowMs + ms;
}

const iso = (ms: number | undefined): string =>
  ms === undefined ? "never" : new Date(ms).toISOString().slice(0, 19).replace("T", " ");

function row(share: Share, shares: Shares, nowMs: number): string[] {
  const use = shares.useOf(share.id);
  return [
    share.name,
    share.id,
    share.page.slice(0, 60),
    tokenStateOf(share, nowMs),
    iso(share.expiresMs),
    String(use?.count ?? 0),
    iso(use?.lastMs),
  ];
}

function shareOutput(share: Share, shares: Shares, nowMs: number) {
  const use = shares.useOf(share.id);
  const time = (ms: number | undefined): string | null =>
    ms === undefined ? null : new Date(ms).toISOString();
  return {
    id: share.id,
    name: share.name,
    page: share.page,
    state: tokenStateOf(share, nowMs),
    created: time(share.createdMs),
    createdBy: share.createdBy,
    expires: time(share.expiresMs),
    revoked: time(share.revokedMs),
    opened: use?.count ?? 0,
    lastOpened: time(use?.lastMs),
  };
}

const print = (io: CommandIo, value: unknown): void =>
  void io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
