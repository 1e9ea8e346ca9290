/** docs/reference/config.md, from the schema of gpulse.yaml. */
import { configSchema } from "../../src/cli/command/schema.ts";
import { generatedNote, table } from "./markdown.ts";
import { describeSchema } from "./schema.ts";

export function configPage(): string {
  const rows = describeSchema(configSchema).map(({ path, takes, description }) => [
    `\`${path}\``,
    takes,
    description,
  ]);
  return [
    "# gpulse.yaml",
    "",
    generatedNote,
    "",
    "Read from the current folder where it is there, or from `--config FILE`. Flags win over variables, variables over the file. An unknown key is",
    "an error with a suggestion, and every message names its line. `gpulse config check` says all mistakes at once.",
    "",
    table(["Key", "Takes", "Meaning"], rows),
    "",
    "## Secrets",
    "",
    "Any text may hold `${VARIABLE}`, taken from the environment, or be `file:PATH`, taken from that file (relative to the configuration file,",
    "line break at its end removed). A variable that is not set, or a file that is not there or empty, is an error. `$${` stands for a plain `${`.",
    "Values that came this way are never printed.",
    "",
    "## Example",
    "",
    "```yaml",
    "interval: 1s",
    "sources:",
    "  - sim: { gpus: 8, seed: 7 }",
    "log_level: info",
    "agent:",
    "  port: 9400",
    "hub:",
    "  port: 9410",
    "  open: false",
    "```",
    "",
    "## Variables",
    "",
    table(
      ["Variable", "Same as", "Used by"],
      [
        ["`EXPORTER_PORT`", "`agent.port`, `--port`", "`gpulse agent`"],
        [
          "`COLLECTION_INTERVAL`",
          "`interval`, `--interval`; a bare number is seconds",
          "every command that reads GPUs",
        ],
        [
          "`LOG_LEVEL`",
          "`log_level`, `--log-level`; any case, also `WARNING`",
          "every command that logs",
        ],
        ["`METRICS_PATH`", "`agent.metrics_path`, `--metrics-path`", "`gpulse agent`"],
        ["`GPULSE_KERNEL_LOG`", "`agent.kernel_log`, `--kernel-log`", "`gpulse agent`"],
        ["`GPULSE_DATA`", "`hub.data`, `--data`", "`gpulse up`, `gpulse hub`"],
        ["`GPULSE_MEMORY`", "`hub.memory`, `--memory`", "`gpulse up`, `gpulse hub`"],
        [
          "`GPULSE_INGEST_WORKERS`",
          "`hub.ingest_workers`, `--ingest-workers`",
          "`gpulse up`, `gpulse hub`",
        ],
        ["`NO_COLOR`", "no colours, also on a terminal", "every command"],
      ],
    ),
    "",
  ].join("\n");
}
