/** `gpulse hub`: the store, PromQL and the page, without reading GPUs of this machine. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import { addAlertingFlags } from "../command/alerting.ts";
import { addJobsFlags } from "../command/jobs.ts";
import { addNodeTaintFlags } from "../command/node-taints.ts";
import { addPodInfoFlags } from "../command/pod-info.ts";
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
    .summary("store metrics, answer PromQL and alert on :9410, without reading this machine")
    .description(
      "Receives samples from agents, remote write, OTLP, Influx line protocol and JSON, and scrapes the targets of a " +
        "prometheus.yml. Stores them, serves Prometheus's query API, evaluates rules and routes alerts. " +
        "Reads no GPU itself: use gpulse agent or gpulse up for that.",
    );
  addFlags(command, [
    "port",
    "host",
    "data",
    "retention",
    "rollupRetention",
    "retentionRule",
    "retentionSize",
    "maxExemplars",
    "embedOrigins",
    "traceUrl",
    "durability",
    "memory",
    "queryWorkers",
    "ingestWorkers",
    "enableFeature",
    "nativeHistogramBucketLimit",
    "store",
    "prometheus",
    "prometheusToken",
    "prometheusCa",
    "prometheusConfig",
    "hostName",
    "config",
    "logLevel",
  ])
    .option(
      "--no-self-scrape",
      "store only received samples: no own metrics, default rules or anomaly detection",
    )
    .option("--json", "log as JSON lines")
    .addHelpText(
      "after",
      `
Examples:
  gpulse hub                                        on http://127.0.0.1:9410, history in ./gpulse-data
  gpulse hub --data /var/lib/gpulse --retention 1y  another folder and a longer retention
  gpulse hub --host 0.0.0.0 --tls-cert hub.pem --tls-key hub.key  on all interfaces, after gpulse token add
  gpulse hub --store http://victoria-metrics:8428   store the history in VictoriaMetrics
  gpulse hub --to remote-write+http://prometheus:9090/api/v1/write  also send everything to Prometheus`,
    )
    .action((flags: HubFlags) => finish(async () => (await import("./run.ts")).runHub(flags, io)));
  addLakeFlags(command, false);
  addJobsFlags(command);
  addNodeTaintFlags(command);
  addPodInfoFlags(command);
  addToFlag(command);
  addAlertingFlags(command);
  addAccessFlags(command);
  addOutboundFlags(command);
}
