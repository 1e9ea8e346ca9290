/** Targets from DNS names: A, AAAA, SRV, MX and NS records, resolved with the system's search list. */
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { formatError, systemCode } from "../../../base/error.ts";
import type { Log } from "../../../base/log.ts";
import type { DnsDiscovery } from "../config/types.ts";
import { joinHostPort } from "../targets/target.ts";
import {
  type DiscoveredGroup,
  type Discovery,
  type TargetLabels,
  createRefreshingDiscovery,
} from "./group.ts";

export interface DnsOptions {
  /** Replaces the system's name servers, such as `127.0.0.1:5353`. */
  readonly servers?: readonly string[];
  readonly resolvConf?: string;
}

export function dnsDiscovery(config: DnsDiscovery, log: Log, options: DnsOptions = {}): Discovery {
  const resolver = new Resolver({ timeout: 5_000, tries: 2 });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const known = new Map<string, DiscoveredGroup>();
  const findOne = async (name: string, search: SearchList): Promise<boolean> => {
    try {
      const targets = await lookUp(resolver, name, config, search);
      const before = known.get(name);
      if (before !== undefined && JSON.stringify(before.targets) === JSON.stringify(targets))
        return false;
      known.set(name, { source: name, targets, labels: { __meta_dns_name: name } });
      return true;
    } catch (thrown) {
      log.warn("DNS lookup failed, keeping the last targets", {
        name,
        error: formatError(thrown),
      });
      return false;
    }
  };
  const refresh = createRefreshingDiscovery(config.refreshIntervalMs, async () => {
    const search = await searchList(options.resolvConf ?? "/etc/resolv.conf");
    const changed = await Promise.all(config.names.map((name) => findOne(name, search)));
    if (!changed.includes(true)) return undefined;
    return config.names.flatMap((name) => known.get(name) ?? []);
  });
  return {
    start: (emit) => refresh.start(emit),
    close() {
      refresh.close();
      resolver.cancel();
    },
  };
}

/** Returns the records of the first candidate name that exists; none if no candidate exists. */
async function lookUp(
  resolver: Resolver,
  name: string,
  config: DnsDiscovery,
  search: SearchList,
): Promise<readonly TargetLabels[]> {
  let problem: Error | undefined;
  for (const candidate of search.candidates(name)) {
    try {
      return await records(resolver, candidate, config);
    } catch (thrown) {
      const code = systemCode(thrown);
      // The name exists without a record of this type: this is a result, not an error.
      if (code === "ENODATA") return [];
      if (code !== "ENOTFOUND")
        problem = thrown instanceof Error ? thrown : new Error(String(thrown));
    }
  }
  if (problem !== undefined) throw problem;
  return [];
}

async function records(
  resolver: Resolver,
  name: string,
  { type, port }: DnsDiscovery,
): Promise<readonly TargetLabels[]> {
  const at = (host: string): string => joinHostPort(host, port);
  switch (type) {
    case "A":
      return (await resolver.resolve4(name)).map((ip) => ({ __address__: at(ip) }));
    case "AAAA":
      return (await resolver.resolve6(name)).map((ip) => ({ __address__: at(ip) }));
    case "SRV":
      return (await resolver.resolveSrv(name)).map((record) => ({
        __address__: joinHostPort(record.name, record.port),
        __meta_dns_srv_record_target: `${record.name}.`,
        __meta_dns_srv_record_port: String(record.port),
      }));
    case "MX":
      return (await resolver.resolveMx(name)).map(({ exchange }) => ({
        __address__: at(exchange),
        __meta_dns_mx_record_target: `${exchange}.`,
      }));
    case "NS":
      return (await resolver.resolveNs(name)).map((server) => ({
        __address__: at(server),
        __meta_dns_ns_record_target: `${server}.`,
      }));
  }
}

interface SearchList {
  candidates(name: string): readonly string[];
}

/** `search` and `ndots` of resolv.conf, applied as in the system's own lookups. */
async function searchList(file: string): Promise<SearchList> {
  const text = await readFile(file, "utf8").catch(() => "");
  return parseSearchList(text);
}

export function parseSearchList(text: string): SearchList {
  const lines = text.split("\n").map((line) =>
    line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/),
  );
  const search = lines.findLast(([key]) => key === "search" || key === "domain")?.slice(1) ?? [];
  const ndots = lines
    .filter(([key]) => key === "options")
    .flatMap((options) => options.slice(1))
    .map((option) => /^ndots:(\d{1,2})$/.exec(option)?.[1])
    .findLast((value) => value !== undefined);
  return {
    candidates(name) {
      if (name.endsWith(".")) return [name.slice(0, -1)];
      const searched = search.map((domain) => `${name}.${domain.replace(/\.$/, "")}`);
      const dots = name.split(".").length - 1;
      return dots >= Number(ndots ?? 1) ? [name, ...searched] : [...searched, name];
    },
  };
}
