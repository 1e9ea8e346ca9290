/** How a command shows a hub who it is: the token and CA flags every client of a hub has, and where else a token may stand. */
import type { Env } from "../../config/secrets.ts";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { GpulseError, systemCode } from "../../base/error.ts";
import { Secret } from "../../net/http/secret.ts";

export interface ClientFlags {
  readonly token?: string;
  readonly ca?: string;
}

export interface ClientAccess {
  readonly token?: Secret;
  /** PEM of the CA that signed the hub's certificate, where the system does not know it. */
  readonly ca?: string;
}

export function addClientFlags(command: Command): Command {
  return command
    .option("--token <token>", "the hub's token, or file:PATH that holds it (also: GPULSE_TOKEN)")
    .option("--ca <file>", "the CA of the hub's certificate, where the system does not know it");
}

/** A flag is seen by everybody who lists processes: the variable and `file:` are not. */
export function clientAccess(flags: ClientFlags, env: Env): ClientAccess {
  const given = flags.token ?? env["GPULSE_TOKEN"] ?? "";
  const token = given.startsWith("file:") ? read("--token", given.slice("file:".length)) : given;
  const ca = flags.ca ?? env["GPULSE_CA"];
  return {
    ...(token.trim() === "" ? {} : { token: new Secret(token.trim()) }),
    ...(ca === undefined || ca === "" ? {} : { ca: read("--ca", ca) }),
  };
}

function read(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    throw new GpulseError(
      "FILE_UNREADABLE",
      `${flag}: the file ${file} cannot be read (${systemCode(thrown) ?? "error"}).`,
      { cause: thrown },
    );
  }
}
