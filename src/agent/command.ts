/** The declaration of `gpulse agent`: its flags, help and examples. */
import type { Command } from "commander";
import { addFlags, readingFlags } from "../cli/command/flags.ts";
import { addKernelLogFlag } from "../cli/command/kernel-log.ts";
import { addPushFlags } from "../cli/command/push.ts";
import { addSettingFlags } from "../cli/command/setting.ts";
import { addToFlag } from "../cli/command/to.ts";
import { agentSettings } from "../cli/command/table.ts";
import { addWebFlags } from "../cli/command/web.ts";
import type { AgentFlags } from "./run.ts";

export function declareAgent(program: Command, run: (flags: AgentFlags) => Promise<void>): Command {
  const command = program
    .command("agent")
    .summary("serve the GPU metrics of this machine to Prometheus on :9400")
    .description(
      "Reads the GPUs of this machine and serves /metrics, /stats, /api/health, /api/snapshot, /healthz and /readyz. " +
        "A scrape returns the latest frame and never touches the hardware.",
    );
  addSettingFlags(addFlags(command, [...readingFlags, "machineLabel", "compat"]), agentSettings)
    .option("--json", "log as JSON lines")
    .addHelpText(
      "after",
      `
Variables: EXPORTER_PORT, COLLECTION_INTERVAL (a bare number is seconds), LOG_LEVEL, METRICS_PATH, GPULSE_TOKEN, GPULSE_CA, GPULSE_KERNEL_LOG. Flags take precedence.

Examples:
  gpulse agent                             serve the GPUs of this machine on :9400
  gpulse agent --source sim:8              serve eight simulated GPUs
  gpulse agent --compat dcgm               also expose the metric names of dcgm-exporter
  gpulse agent --interval 30s --port 9500  read every 30 s, another port
  gpulse agent --web-config-file web.yml   HTTPS and passwords from a Prometheus web configuration file
  gpulse agent --kernel-log loki+http://loki:3100
                                           send kernel log lines about GPUs to Loki
  gpulse agent --push https://hub:9410 --token file:/etc/gpulse/token
                                           also push to a hub, through a spool on disk`,
    )
    .action(async (flags: AgentFlags) => run(flags));
  return addKernelLogFlag(addToFlag(addPushFlags(addWebFlags(command))));
}
