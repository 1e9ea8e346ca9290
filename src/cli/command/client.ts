/** Flags of every command that connects to a hub: its URL, a token and a CA; token and CA may also come from environment variables. */
import type { Env } from "../../config/secrets.ts";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { defined } from "../../base/defined.ts";
import { GpulseError, systemCode } from "../../base/error.ts";
import { Secret } from "../../net/http/secret.ts";

export interface ClientFlags {
  readonly token?: string;
  readonly ca?: string;
}

export interface ClientAccess {
  readonly token?: Secret;
  /** PEM file of the CA that signed the hub's certificate, if the system does not trust it. */
  readonly ca?: string;
}

export const defaultHubUrl = "http://127.0.0.1:9410";
export const hubUrlOption = ["--url <url>", `the hub (default: ${defaultHubUrl})`] as const;

export function addClientFlags(command: Command): Command {
  return command
    .option("--token <token>", "token, or file:PATH that holds it (default: GPULSE_TOKEN)")
    .option(
      "--ca <file>",
      "CA that signed the hub's certificate (default: GPULSE_CA, or the system's CAs)",
    );
}

/** Flags are visible in process listings: the variable and `file:` are not. */
export function clientAccess(flags: ClientFlags, env: Env): ClientAccess {
  const given = flags.token ?? env["GPULSE_TOKEN"] ?? "";
  const token = given.startsWith("file:") ? read("--token", given.slice("file:".length)) : given;
  const ca = flags.ca ?? env["GPULSE_CA"];
  return defined({
    token: token.trim() === "" ? undefined : new Secret(token.trim()),
    ca: ca === undefined || ca === "" ? undefined : read("--ca", ca),
  });
}

function read(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    throw new GpulseError(
      "FILE_UNREADABLE",
      `${flag}: cannot read the file ${file} (${systemCode(thrown) ?? "error"}). Check the path and its permissions.`,
      { cause: thrown },
    );
  }
}
