/** `gpulse up`, the default command: agent and hub in one process, with a live page. */
import type { Command } from "commander";
import { addFlags, readingFlags } from "../command/flags.ts";
import { addAlertingFlags } from "../command/alerting.ts";
import { addJobsFlags } from "../command/jobs.ts";
import { addLakeFlags } from "../command/lake.ts";
import { addOutboundFlags } from "../command/outbound.ts";
import { addToFlag } from "../command/to.ts";
import { addAccessFlags } from "../command/web.ts";
import type { CommandIo } from "../command/io.ts";
import type { UpFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareUp(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("up", { isDefault: true })
    .summary("read the GPUs of this machine and show them live in a browser (default command)")
    .description(
      "Reads the GPUs of this machine and serves a live page on http://127.0.0.1:9410. " +
        "Without a GPU it shows a simulated fleet, which is labelled as simulated everywhere.",
    );
  addFlags(command, [
    ...readingFlags,
    "machineLabel",
    "port",
    "host",
    "compat",
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
  ])
    .option("--no-open", "do not open the browser")
    .option("--json", "log as JSON lines")
    .addHelpText(
      "after",
      `
Examples:
  gpulse                                      live page of this machine
  gpulse up --source sim:64 --no-open         a simulated fleet of 64 GPUs, no browser
  gpulse up --source 'sim:2?scenario=stress'  a simulated RX 7800 XT and RX 7700 XT under load
  gpulse up --prometheus http://prom:9090     the GPUs of your Prometheus, no agent needed`,
    )
    .action((flags: UpFlags) => finish(async () => (await import("./run.ts")).runUp(flags, io)));
  addLakeFlags(command, true);
  addJobsFlags(command);
  addToFlag(command);
  addAlertingFlags(command);
  addAccessFlags(command);
  addOutboundFlags(command);
}
