/** The generated pages of docs/reference. `npm run docs` writes them; a test fails if one is out of date. */
import { badges } from "./badges.ts";
import { compatibilityPage } from "./compatibility.ts";
import { configPage } from "./config.ts";
import { commandsPage } from "./commands.ts";
import { dependenciesPage } from "./dependencies.ts";
import { errorsPage } from "./errors.ts";
import { mcpToolsPage } from "./mcp-tools.ts";
import { metricsPage } from "./metrics.ts";
import { componentsPage } from "./components.ts";
import { avroSchemaFile, messageSchemaFile } from "./message.ts";
import { thresholdsFile } from "../../src/pipeline/tags/thresholds.ts";
import { sparkColumnsFile } from "./spark.ts";
import { statsSchemaFile } from "./stats.ts";
import { xidsPage } from "./xids.ts";
import { grafanaFiles } from "../grafana/files.ts";

export interface GeneratedPage {
  readonly path: string;
  readonly render: () => string | Promise<string>;
}

export const pages: readonly GeneratedPage[] = [
  { path: "docs/reference/metrics.md", render: metricsPage },
  { path: "docs/reference/compatibility.md", render: compatibilityPage },
  { path: "docs/reference/commands.md", render: commandsPage },
  { path: "docs/reference/config.md", render: configPage },
  { path: "docs/reference/sources-and-sinks.md", render: componentsPage },
  { path: "docs/reference/dependencies.md", render: dependenciesPage },
  { path: "docs/reference/errors.md", render: errorsPage },
  { path: "docs/reference/xids.md", render: xidsPage },
  { path: "docs/reference/mcp-tools.md", render: mcpToolsPage },
  { path: "docs/reference/stats.schema.json", render: statsSchemaFile },
  { path: "deploy/spark/thresholds.json", render: thresholdsFile },
  { path: "deploy/spark/columns.json", render: sparkColumnsFile },
  { path: "docs/reference/kafka-message.schema.json", render: messageSchemaFile },
  { path: "docs/reference/kafka-message.avsc", render: avroSchemaFile },
  ...badges,
  ...grafanaFiles,
];
