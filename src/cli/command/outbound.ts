/** The flags and keys that say which addresses may be contacted, and the guard that holds a process to them. */
import type { Command } from "commander";
import * as v from "valibot";
import { flag } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { type AddressRange, parseRange } from "../../net/http/address-ranges.ts";
import { guardSockets, type OutboundRule } from "../../net/http/outbound.ts";
import type { Log } from "../../base/log.ts";

export interface OutboundFlags {
  readonly allowOutbound?: readonly string[];
  /** False where `--no-private-outbound` was given. */
  readonly privateOutbound?: boolean;
}

export interface OutboundSettings extends OutboundRule {
  /** As they were written, to hand them on. */
  readonly allowed: readonly string[];
}

export function addOutboundFlags(command: Command): Command {
  return command
    .option(
      "--allow-outbound <range>",
      "contact these addresses whatever else is said, such as 10.0.0.0/8 or 127.0.0.1:9092, repeatable",
      (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
    )
    .option(
      "--no-private-outbound",
      "contact no private network and not this machine, but what is allowed",
    );
}

const takes = "a range of addresses such as 10.0.0.0/8, fd00::/8 or 127.0.0.1:9092";

const withDescription = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.optional(v.pipe(schema, v.description(description)));

export const outboundKeys = {
  outbound: withDescription(
    v.strictObject({
      allow: withDescription(
        v.array(
          v.pipe(
            v.string(takes),
            v.check((text) => parseRange(text) !== undefined, takes),
          ),
          "a list of ranges",
        ),
        "Ranges that may be contacted whatever else is said, such as `10.0.0.0/8` or `127.0.0.1:9092`.",
      ),
      private: withDescription(
        flag(),
        "Whether private networks and this machine may be contacted. Default: yes. Pipes made over HTTP on a hub that others reach may not in any case.",
      ),
    }),
    "Which addresses may be contacted: see [the threat model](../guides/threat-model.md#what-it-contacts).",
  ),
};

interface FileKeys {
  readonly outbound?:
    | {
        readonly allow?: readonly string[] | undefined;
        readonly private?: boolean | undefined;
      }
    | undefined;
}

export function outboundSettings(
  flags: OutboundFlags,
  file: FileKeys | undefined,
): OutboundSettings {
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

/** Holds this process to the rule; the returned function ends that. What is refused is told once a minute and address. */
export function guardOutbound(rule: OutboundRule, log: Log, nowMs: () => number): () => void {
  const told = new Map<string, number>();
  return guardSockets(rule, ({ address, message }, name, port) => {
    const key = `${address} ${port ?? ""}`;
    if (nowMs() - (told.get(key) ?? 0) < logRefusalEveryMs) return;
    if (told.size >= maxLoggedAddresses) told.clear();
    told.set(key, nowMs());
    log.warn("an address was not contacted", { name, port, why: message });
  });
}
