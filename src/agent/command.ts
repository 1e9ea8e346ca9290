/** The declaration of `gpulse agent`: its flags, help and examples. */
import type { Command } from "commander";
import { addFlags, readingFlags } from "../cli/command/flags.ts";
import { addKernelLogFlag } from "../cli/command/kernel-log.ts";
import { addPushFlags } from "../cli/command/push.ts";
import { addToFlag } from "../cli/command/to.ts";
import { agentSettings } from "../cli/command/table.ts";
import { addWebFlags } from "../cli/command/web.ts";
import type { AgentFlags } from "./run.ts";

export function declareAgent(program: Command, run: (flags: AgentFlags) => Promise<void>): Command {
  const command = program
    .command("agent")
    .summary("serve this machine's GPUs to Prometheus on :9400")
    .description(
      "Reads the GPUs of this machine and serves /metrics, /stats, /api/snapshot, /healthz and /readyz.\n" +
        "A scrape never touches the hardware: it gets the newest frame.",
    );
  addFlags(command, [...readingFlags, "port", "host", "compat"])
    .option(...agentSettings.metrics_path.flag)
    .option("--json", "log as JSON lines")
    .addHelpText(
      "after",
      `
Variables: EXPORTER_PORT, COLLECTION_INTERVAL (a bare number is seconds), LOG_LEVEL, METRICS_PATH, GPULSE_TOKEN, GPULSE_CA, GPULSE_KERNEL_LOG. Flags win.

Examples:
  gpulse agent                             serve what this machine has on :9400
  gpulse agent --source sim:8              serve eight simulated GPUs
  gpulse agent --compat dcgm               dashboards made for dcgm-exporter keep working
  gpulse agent --interval 30s --port 9500  read every half minute, another port
  gpulse agent --web-config-file web.yml   HTTPS and passwords, as Prometheus's exporters do it
  gpulse agent --kernel-log loki+http://loki:3100
                                           send the kernel's lines about GPUs to Loki
  gpulse agent --push https://hub:9410 --token file:/etc/gpulse/token
                                           push to a hub as well, through a spool on disk`,
    )
    .action(async (flags: AgentFlags) => run(flags));
  return addKernelLogFlag(addToFlag(addPushFlags(addWebFlags(command))));
}
