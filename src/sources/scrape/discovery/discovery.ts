/** The list of all discovery kinds, each created from its part of the configuration. */
import type { Log } from "../../../base/log.ts";
import type { DiscoveryConfig } from "../config/types.ts";
import { dnsDiscovery, type DnsOptions } from "./dns.ts";
import { fileDiscovery } from "./file.ts";
import { type Discovery, staticDiscovery } from "./group.ts";
import { httpDiscovery } from "./http.ts";
import { kubernetesDiscovery } from "./kubernetes/kubernetes.ts";

export interface DiscoveryContext {
  readonly log: Log;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly random: () => number;
  readonly dns?: DnsOptions;
}

export interface DiscoveryPlan {
  /** Plans whose parts have the same key find the same targets and share one discovery. */
  readonly part: unknown;
  readonly make: () => Discovery;
}

export function planDiscoveries(
  config: DiscoveryConfig,
  around: DiscoveryContext,
): DiscoveryPlan[] {
  const { log, version } = around;
  const plan = (kind: string, part: unknown, make: () => Discovery): DiscoveryPlan => ({
    part: { kind, part },
    make,
  });
  return [
    plan("static", config.static, () => staticDiscovery(config.static)),
    ...config.file.map((part) => plan("file", part, () => fileDiscovery(part, log))),
    ...config.http.map((part) => plan("http", part, () => httpDiscovery(part, log, version))),
    ...config.dns.map((part) => plan("dns", part, () => dnsDiscovery(part, log, around.dns))),
    ...config.kubernetes.map((part) =>
      plan("kubernetes", part, () => kubernetesDiscovery(part, around)),
    ),
  ];
}
