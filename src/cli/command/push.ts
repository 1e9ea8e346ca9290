/** The flags and keys of an agent that pushes: to which hubs, as whom, with what credentials, and what may wait on disk. */
import type { Env } from "../../config/secrets.ts";
import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import type { Command } from "commander";
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
  /** Absent: the host's name and the agent's port. */
  readonly instance?: string;
  readonly spoolDir: string;
  readonly spoolMaxBytes: number;
  readonly spoolAgeMs: number;
}

const dayMs = 86_400_000;

export function addPushFlags(command: Command): Command {
  command
    .option("--push <url>", "also push to this hub, such as http://hub:9410, repeatable", collect)
    .option("--token <token>", "a token that may push, or file:PATH (also: GPULSE_TOKEN)")
    .option("--ca <file>", "the CA of the hub's certificate, where the system does not know it")
    .option("--client-cert <file>", "our own certificate, for a hub that asks for one")
    .option("--client-key <file>", "its key");
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
    flag: ["--job <name>", "the job label of what is pushed (default: gpulse)"],
    description: "The `job` label of what is pushed.",
  },
  instance: {
    schema: text("a name"),
    flag: ["--instance <name>", "its instance label, and our name on the hub (default: HOST:PORT)"],
    description:
      "The `instance` label of what is pushed, and the agent's name on the hub. Default: the host's name and the agent's port.",
  },
  spool: {
    schema: text("a folder"),
    flag: ["--spool <dir>", "where what could not be pushed yet waits"],
    description:
      "Where what could not be pushed yet waits. Default: `spool` in GPULSE_DATA, else in the state folder of this user.",
  },
  spool_max: {
    schema: byteSize(1_000_000, 1e12),
    flag: ["--spool-max <size>", "how much may wait for each hub (default: 512MB)"],
    description: "How much may wait for each hub; beyond it the oldest goes.",
  },
  spool_age: {
    schema: durationMs(60_000, 365 * dayMs),
    flag: ["--spool-age <duration>", "how long it may wait (default: 7d)"],
    description: "How long it may wait.",
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
            token: optionalKey(text("a token"), "A token that may push; `file:` or `${VARIABLE}`."),
            ca_file: optionalKey(text("a file"), "The CA of the hub's certificate."),
            cert_file: optionalKey(text("a file"), "Our own certificate, for mTLS."),
            key_file: optionalKey(text("a file"), "Its key."),
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
  const token = flags.token ?? nonEmpty(env["GPULSE_TOKEN"]);
  const ca = flags.ca ?? nonEmpty(env["GPULSE_CA"]);
  const shared = {
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(flags.clientCert === undefined ? {} : { certFile: flags.clientCert }),
    ...(flags.clientKey === undefined ? {} : { keyFile: flags.clientKey }),
  };
  const hubs: readonly PushTarget[] =
    flags.push?.map((url) => ({ url, ...shared })) ??
    file?.push?.map((hub) =>
      typeof hub === "string" ? { url: hub, ...shared } : { ...shared, ...ofFile(hub) },
    ) ??
    [];
  const instance = flags.instance ?? file?.instance;
  return {
    hubs,
    job: flags.job ?? file?.job ?? "gpulse",
    ...(instance === undefined ? {} : { instance }),
    spoolDir: flags.spool ?? file?.spool ?? defaultSpool(flags.data, env),
    spoolMaxBytes: readSetting(pushSettingTable, "spool_max", flags, {}, file) ?? 512e6,
    spoolAgeMs: readSetting(pushSettingTable, "spool_age", flags, {}, file) ?? 7 * dayMs,
  };
}

function ofFile(hub: Exclude<NonNullable<FileKeys["push"]>[number], string>): PushTarget {
  return {
    url: hub.url,
    ...(hub.token === undefined ? {} : { token: hub.token }),
    ...(hub.ca_file === undefined ? {} : { caFile: hub.ca_file }),
    ...(hub.cert_file === undefined ? {} : { certFile: hub.cert_file }),
    ...(hub.key_file === undefined ? {} : { keyFile: hub.key_file }),
  };
}

const systemFolder = "/var/lib/gpulse";

/** A service has its folder under /var/lib, a person theirs at home. */
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
