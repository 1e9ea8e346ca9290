/** `gpulse hub`: the store, PromQL and the page, without reading this machine. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import { addAlertingFlags } from "../command/alerting.ts";
import { addLakeFlags } from "../command/lake.ts";
import { addOutboundFlags } from "../command/outbound.ts";
import { addToFlag } from "../command/to.ts";
import { addAccessFlags } from "../command/web.ts";
import type { CommandIo } from "../command/io.ts";
import type { HubFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareHub(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("hub")
    .summary("keep history, answer PromQL and alert on :9410, fed by agents, scrapes and senders")
    .description(
      "Takes what agents push, scrapes what a prometheus.yml says, and takes remote-write, OTLP, Influx line and JSON;\n" +
        "keeps it, answers Prometheus's query API, evaluates rules and routes alerts.\n" +
        "Reads no GPU itself: that is what gpulse agent and gpulse up are for.",
    );
  addFlags(command, [
    "port",
    "host",
    "data",
    "retention",
    "retentionSize",
    "durability",
    "memory",
    "store",
    "prometheusConfig",
    "hostName",
    "config",
    "logLevel",
  ])
    .option(
      "--no-self-scrape",
      "keep only what others send: no own metrics, no default rules, no anomalies",
    )
    .option("--json", "log as JSON lines")
    .addHelpText(
      "after",
      `
Examples:
  gpulse hub                                        on http://127.0.0.1:9410, history in ./gpulse-data
  gpulse hub --data /var/lib/gpulse --retention 1y  elsewhere and longer
  gpulse hub --host 0.0.0.0 --tls-cert hub.pem --tls-key hub.key  for others, after gpulse token add
  gpulse hub --store http://victoria-metrics:8428   history kept by VictoriaMetrics
  gpulse hub --to remote-write+http://prometheus:9090/api/v1/write  and a copy of everything to Prometheus`,
    )
    .action((flags: HubFlags) => finish(async () => (await import("./run.ts")).runHub(flags, io)));
  addLakeFlags(command, false);
  addToFlag(command);
  addAlertingFlags(command);
  addAccessFlags(command);
  addOutboundFlags(command);
}
