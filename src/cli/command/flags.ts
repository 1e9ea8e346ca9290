/** The flags that mean the same in every command. */
import type { Command } from "commander";
import { collect } from "./setting.ts";
import { generalSettings, hubSettings } from "./table.ts";

const { interval, host_name, log_level, sysfs, procfs } = generalSettings;
const { host, port, data, retention, retention_size, durability, memory } = hubSettings;

const shared = {
  source: [
    "--source <url>",
    "where numbers come from, repeatable: auto, sim:8, none (default: auto)",
  ],
  compat: [
    "--compat <names>",
    "also give the names of dcgm, amd, nvidia-smi or dcgm-old, comma-separated, repeatable",
  ],
  interval: interval.flag,
  port: port.flag,
  host: host.flag,
  hostName: host_name.flag,
  data: data.flag,
  store: [
    "--store <url>",
    "keep the history in an engine elsewhere: Prometheus, VictoriaMetrics, Mimir or Thanos",
  ],
  retention: retention.flag,
  retentionSize: retention_size.flag,
  durability: durability.flag,
  memory: memory.flag,
  prometheusConfig: [
    "--prometheus-config <file>",
    "scrape what a prometheus.yml says, and send where its remote_write says",
  ],
  config: ["--config <file>", "configuration file (default: gpulse.yaml where there is one)"],
  sysfs: sysfs.flag,
  procfs: procfs.flag,
  logLevel: log_level.flag,
} as const;

export type SharedFlag = keyof typeof shared;

export function addFlags(command: Command, names: readonly SharedFlag[]): Command {
  for (const name of names) {
    const [flags, help] = shared[name];
    if (name === "source" || name === "compat") command.option(flags, help, collect);
    else command.option(flags, help);
  }
  return command;
}

export const readingFlags: readonly SharedFlag[] = [
  "source",
  "interval",
  "hostName",
  "config",
  "sysfs",
  "procfs",
  "logLevel",
];
