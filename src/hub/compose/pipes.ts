/**
 * The hub's pipes with what the command line provides: the program to run them, the URL parsers, and the addresses they may
 * contact. Pipes requested over the network must not give access to the hub's internal network.
 */
import { lookup } from "node:dns/promises";
import type { CommandIo } from "../../cli/command/io.ts";
import type { OutboundSettings } from "../../cli/command/outbound.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { parseRange } from "../../net/http/address-ranges.ts";
import { checkAddress } from "../../net/http/outbound.ts";
import { isLoopback } from "../guard.ts";
import { Pipes } from "../pipes/pipes.ts";
import type { PipeSpec } from "../pipes/spec.ts";
import type { Log } from "../../base/log.ts";

export function openHubPipes(settings: Settings, io: CommandIo, log: Log): Pipes {
  const rule = pipeRule(settings);
  return new Pipes({
    dataDir: settings.dataDir,
    hostName: settings.hostName,
    program: [process.execPath, process.argv[1] ?? ""],
    outbound: [
      ...rule.allowed.map((range) => `--allow-outbound=${range}`),
      ...(rule.privateAllowed ? [] : ["--no-private-outbound"]),
    ],
    env: io.env,
    log,
    nowMs: Date.now,
    check: (pipe) => check(pipe, rule),
  });
}

/**
 * On a loopback hub the client runs on this machine and has its network access anyway. Otherwise a pipe reaches private
 * networks only if the hub's own files or flags allow them, and this hub itself, which requires a token.
 */
export function pipeRule({
  listen: { host, port },
  access,
  outbound,
}: Pick<Settings, "listen" | "access" | "outbound">): OutboundSettings {
  if (isLoopback(host) && !access.behindProxy) return outbound;
  const itself = [`127.0.0.1:${port}`, `[::1]:${port}`];
  const allowed = [...outbound.allowed, ...itself];
  return {
    allowed,
    allow: allowed.flatMap((text) => parseRange(text) ?? []),
    privateAllowed: false,
  };
}

async function check({ kind, from, to, options }: PipeSpec, rule: OutboundSettings) {
  const { parseSource } = await import("../../sources/open.ts");
  const { parseSink } = await import("../../sinks/open.ts");
  if (kind === "pipe") for (const url of from) if (url !== "auto") parseSource(url);
  if (kind === "replay") {
    const { sourceOf, speedOf } = await import("../../cli/replay/options.ts");
    speedOf(options.speed);
    parseSource(sourceOf(from[0] ?? "", {}));
  }
  for (const url of to) parseSink(url);
  for (const url of [...from, ...to]) await refuseAddresses(url, rule);
}

/** Checks the address in advance for a clear error message; the pipe's process enforces the rule. */
async function refuseAddresses(url: string, rule: OutboundSettings): Promise<void> {
  const [, authority = ""] = /^[a-z0-9+.-]+:\/\/([^/?#]*)/i.exec(url) ?? [];
  for (const place of authority.slice(authority.lastIndexOf("@") + 1).split(",")) {
    const [, six, name, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(place) ?? [];
    const host = six ?? name ?? "";
    if (host === "") continue;
    const found = await lookup(host, { all: true }).catch(() => []);
    for (const { address } of found) {
      const refused = checkAddress(rule, address, port === undefined ? undefined : Number(port));
      if (refused !== undefined)
        throw new GpulseError("USAGE", `A pipe may not go to ${host}: ${refused.message}.`);
    }
  }
}
