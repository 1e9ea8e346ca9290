/** The flags and keys of an agent that pushes: hubs, labels, credentials and the spool on disk. */
import type { Env } from "../../config/secrets.ts";
import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import type { Command } from "commander";
import { defined } from "../../base/defined.ts";
import * as v from "valibot";
import { durationMs, text } from "../../config/fields.ts";
import {
  addSettingFlags,
  collect,
  type FlagsOf,
  keysOf,
  optionalKey,
  readSetting,
} from "./setting.ts";

export interface PushFlags extends FlagsOf<typeof pushSettingTable> {
  readonly push?: readonly string[];
  readonly token?: string;
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

export interface PushTarget {
  readonly url: string;
  /** The token itself, or `file:PATH`. */
  readonly token?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

export interface PushSettings {
  readonly hubs: readonly PushTarget[];
  readonly job: string;
  /** Absent: the host name and the agent's port. */
  readonly instance?: string;
  readonly spoolDir: string;
  readonly spoolMaxBytes: number;
  readonly spoolAgeMs: number;
}

const dayMs = 86_400_000;

export function addPushFlags(command: Command): Command {
  command
    .option("--push <url>", "also push to this hub, such as http://hub:9410; repeatable", collect)
    .option(
      "--token <token>",
      "token with the push scope, or file:PATH that holds it (default: GPULSE_TOKEN)",
    )
    .option(
      "--ca <file>",
      "CA that signed the hub's certificate (default: GPULSE_CA, or the system's CAs)",
    )
    .option("--client-cert <file>", "client certificate for a hub that requires one")
    .option("--client-key <file>", "key of the client certificate");
  return addSettingFlags(command, pushSettingTable);
}

const unitBytes: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

/** `512MB`, `2GiB` or a number of bytes. */
export function byteSize(min: number, max: number) {
  const takes = `a size such as 512MB or 2GiB, from ${min} bytes to ${max / 1e12} TB`;
  return v.pipe(
    v.union([v.string(takes), v.number(takes)], takes),
    v.transform((given) => {
      const match = /^(\d{1,15}(?:\.\d{1,3})?)\s*([kmgt]?)(i?)b?$/i.exec(String(given).trim());
      if (match === null) return Number.NaN;
      const [, amount, unit = "", binary = ""] = match;
      const power = "kmgt".indexOf(unit.toLowerCase()) + 1;
      const scale = binary === "" ? (unitBytes[unit.toLowerCase()] ?? 1) : 1_024 ** power;
      return Math.round(Number(amount) * scale);
    }),
    v.check((bytes) => bytes >= min && bytes <= max, takes),
    v.metadata({ takes: "size" }),
  );
}

const pushSettingTable = {
  job: {
    schema: text("a name"),
    flag: ["--job <name>", "the job label of pushed series"],
    fallback: "gpulse",
    description: "The `job` label of pushed series.",
  },
  instance: {
    schema: text("a name"),
    flag: ["--instance <name>", "the instance label of pushed series, and the agent's name"],
    fallbackText: "HOST:PORT",
    description:
      "The `instance` label of pushed series, and the agent's name on the hub. Default: the host's name and the agent's port.",
  },
  spool: {
    schema: text("a folder"),
    flag: ["--spool <dir>", "folder for samples that are not delivered yet"],
    fallbackText: "spool in GPULSE_DATA, /var/lib/gpulse or the user's state folder",
    description:
      "Folder for samples that are not delivered yet. Default: `spool` in GPULSE_DATA, else in the state folder of this user.",
  },
  spool_max: {
    schema: byteSize(1_000_000, 1e12),
    flag: ["--spool-max <size>", "limit the spool of each hub to this size"],
    fallback: "512MB",
    description: "Size limit of the spool of each hub; beyond it the oldest samples are dropped.",
  },
  spool_age: {
    schema: durationMs(60_000, 365 * dayMs),
    flag: ["--spool-age <duration>", "drop samples that waited this long"],
    fallback: "7d",
    description: "Drop samples that waited this long.",
  },
} as const;

/** Keys of `agent:`. */
export const pushKeys = {
  push: optionalKey(
    v.array(
      v.union(
        [
          text("a hub such as http://hub:9410"),
          v.strictObject({
            url: v.pipe(text("a hub such as http://hub:9410"), v.description("The hub.")),
            token: optionalKey(
              text("a token"),
              "Token with the push scope; `file:` or `${VARIABLE}`.",
            ),
            ca_file: optionalKey(text("a file"), "CA that signed the hub's certificate."),
            cert_file: optionalKey(text("a file"), "Client certificate for mTLS."),
            key_file: optionalKey(text("a file"), "Key of the client certificate."),
          }),
        ],
        "a hub such as http://hub:9410",
      ),
      "a list of hubs",
    ),
    "Hubs to push to, through a spool on disk.",
  ),
  ...keysOf(pushSettingTable),
};

const keysSchema = v.strictObject(pushKeys);
type FileKeys = Partial<v.InferOutput<typeof keysSchema>>;

export function pushSettings(
  flags: PushFlags & { readonly data?: string },
  file: FileKeys | undefined,
  env: Env,
): PushSettings {
  const shared = defined({
    token: flags.token ?? nonEmpty(env["GPULSE_TOKEN"]),
    caFile: flags.ca ?? nonEmpty(env["GPULSE_CA"]),
    certFile: flags.clientCert,
    keyFile: flags.clientKey,
  });
  const hubs: readonly PushTarget[] =
    flags.push?.map((url) => ({ url, ...shared })) ??
    file?.push?.map((hub) =>
      typeof hub === "string"
        ? { url: hub, ...shared }
        : {
            ...shared,
            ...defined({
              url: hub.url,
              token: hub.token,
              caFile: hub.ca_file,
              certFile: hub.cert_file,
              keyFile: hub.key_file,
            }),
          },
    ) ??
    [];
  return defined({
    hubs,
    job: readSetting(pushSettingTable, "job", flags, {}, file),
    instance: flags.instance ?? file?.instance,
    spoolDir: flags.spool ?? file?.spool ?? defaultSpool(flags.data, env),
    spoolMaxBytes: readSetting(pushSettingTable, "spool_max", flags, {}, file),
    spoolAgeMs: readSetting(pushSettingTable, "spool_age", flags, {}, file),
  });
}

const systemFolder = "/var/lib/gpulse";

/** A service uses its folder under /var/lib, a user one in the home folder. */
function defaultSpool(data: string | undefined, env: Env): string {
  const named = data ?? nonEmpty(env["GPULSE_DATA"]) ?? nonEmpty(env["STATE_DIRECTORY"]);
  if (named !== undefined) return path.join(named, "spool");
  if (isWritable(existsSync(systemFolder) ? systemFolder : path.dirname(systemFolder)))
    return path.join(systemFolder, "spool");
  const state = nonEmpty(env["XDG_STATE_HOME"]) ?? path.join(homedir(), ".local", "state");
  return path.join(state, "gpulse", "spool");
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const nonEmpty = (given: string | undefined): string | undefined =>
  given === undefined || given === "" ? undefined : given;
