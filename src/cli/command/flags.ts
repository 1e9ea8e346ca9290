/** The flags that mean the same in every command. */
import type { Command } from "commander";

const shared = {
  source: [
    "--source <url>",
    "where numbers come from, repeatable: auto, sim:8, none (default: auto)",
  ],
  compat: [
    "--compat <names>",
    "also give the names of dcgm, amd, nvidia-smi or dcgm-old, comma-separated, repeatable",
  ],
  interval: ["--interval <duration>", "how often GPUs are read (default: 1s)"],
  port: ["--port <number>", "port to listen on, 0 for any free one"],
  host: ["--host <address>", "address to listen on"],
  hostName: ["--host-name <name>", "the host label on every series (default: this machine's name)"],
  data: ["--data <dir>", "where the history is kept (default: ./gpulse-data)"],
  store: [
    "--store <url>",
    "keep the history in an engine elsewhere: Prometheus, VictoriaMetrics, Mimir or Thanos",
  ],
  retention: ["--retention <duration>", "how long the history is kept (default: 30d)"],
  retentionSize: [
    "--retention-size <size>",
    "how large the history may become, such as 50GB: the oldest goes first (default: no limit)",
  ],
  durability: [
    "--durability <what>",
    "what an acknowledged sample survives: process or power (default: process)",
  ],
  memory: [
    "--memory <size>",
    "memory this process may use, such as 2GB (default: the cgroup's limit, or half of the machine)",
  ],
  prometheusConfig: [
    "--prometheus-config <file>",
    "scrape what a prometheus.yml says, and send where its remote_write says",
  ],
  config: ["--config <file>", "configuration file (default: gpulse.yaml where there is one)"],
  sysfs: ["--sysfs <dir>", "where /sys is mounted (default: /sys)"],
  procfs: ["--procfs <dir>", "where /proc is mounted (default: /proc)"],
  logLevel: ["--log-level <level>", "debug, info, warn, error or silent (default: info)"],
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

function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
