/** The flags and keys that restrict outbound addresses, and the guard that enforces them. */
import type { Command } from "commander";
import * as v from "valibot";
import { flag } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { type AddressRange, parseRange } from "../../net/http/address-ranges.ts";
import { guardSockets, type OutboundRule } from "../../net/http/outbound.ts";
import type { Log } from "../../base/log.ts";
import type { ConfigFile } from "./schema.ts";
import { collect, optionalKey } from "./setting.ts";

export interface OutboundFlags {
  readonly allowOutbound?: readonly string[];
  /** False if `--no-private-outbound` was given. */
  readonly privateOutbound?: boolean;
}

export interface OutboundSettings extends OutboundRule {
  /** The address ranges as text, to pass to a child process. */
  readonly allowed: readonly string[];
}

export function addOutboundFlags(command: Command): Command {
  return command
    .option(
      "--allow-outbound <range>",
      "always allow connections to these addresses, such as 10.0.0.0/8 or 127.0.0.1:9092; repeatable",
      collect,
    )
    .option(
      "--no-private-outbound",
      "refuse connections to private networks and this machine, unless --allow-outbound allows them",
    );
}

const takes = "a range of addresses such as 10.0.0.0/8, fd00::/8 or 127.0.0.1:9092";

export const outboundKeys = {
  outbound: optionalKey(
    v.strictObject({
      allow: optionalKey(
        v.array(
          v.pipe(
            v.string(takes),
            v.check((text) => parseRange(text) !== undefined, takes),
          ),
          "a list of ranges",
        ),
        "Address ranges to which connections are always allowed, such as `10.0.0.0/8` or `127.0.0.1:9092`.",
      ),
      private: optionalKey(
        flag(),
        "Whether connections to private networks and this machine are allowed. Default: yes. Pipes created over HTTP on a hub that others reach never may.",
      ),
    }),
    "Addresses to which connections are allowed: see [the threat model](../guides/threat-model.md#what-it-contacts).",
  ),
};

export function outboundSettings(flags: OutboundFlags, file: ConfigFile["hub"]): OutboundSettings {
  const allowed = flags.allowOutbound ?? file?.outbound?.allow ?? [];
  return {
    allowed,
    allow: allowed.map(readRange),
    privateAllowed: flags.privateOutbound === false ? false : (file?.outbound?.private ?? true),
  };
}

function readRange(text: string): AddressRange {
  const range = parseRange(text);
  if (range === undefined)
    throw new GpulseError(
      "USAGE",
      `--allow-outbound must be ${takes}, not "${text.slice(0, 100)}".`,
    );
  return range;
}

const logRefusalEveryMs = 60_000;
const maxLoggedAddresses = 1_000;

/** Applies the rule to this process until the returned function is called. Refusals are logged once a minute per address. */
export function guardOutbound(rule: OutboundRule, log: Log, nowMs: () => number): () => void {
  const loggedMs = new Map<string, number>();
  return guardSockets(rule, ({ address, message }, name, port) => {
    const key = `${address} ${port ?? ""}`;
    if (nowMs() - (loggedMs.get(key) ?? 0) < logRefusalEveryMs) return;
    if (loggedMs.size >= maxLoggedAddresses) loggedMs.clear();
    loggedMs.set(key, nowMs());
    log.warn("outbound connection refused", { name, port, why: message });
  });
}
