/** Flags with the same meaning in every command. */
import { type Command, Option } from "commander";
import { compatNames } from "../../formats/compat/tables.ts";
import { listWords, withWords } from "./choice.ts";
import { prometheusFlags } from "./prometheus.ts";
import { collect, settingOption } from "./setting.ts";
import { generalSettings, hubSettings } from "./table.ts";

const shared = {
  source: () =>
    new Option(
      "--source <url>",
      "read from this source, such as sim:8, or none; repeatable (default: auto)",
    ).argParser(collect),
  compat: () =>
    withWords(
      new Option(
        "--compat <names>",
        `also expose the metric names of ${listWords(compatNames)}, comma-separated; repeatable`,
      ).argParser(collect),
      compatNames,
    ),
  interval: () => settingOption(generalSettings.interval),
  port: () => settingOption(hubSettings.port),
  host: () => settingOption(hubSettings.host),
  boundWindow: () => settingOption(generalSettings.bound_window),
  tensorPrecision: () => settingOption(generalSettings.tensor_precision),
  hostName: () => settingOption(generalSettings.host_name),
  machineLabel: () =>
    new Option(
      "--machine-label <name=value>",
      "add this label to gpu_info and host_info, such as rack=b7; repeatable (default: none)",
    ).argParser(collect),
  data: () => settingOption(hubSettings.data),
  store: () =>
    new Option(
      "--store <url>",
      "store the history in Prometheus, VictoriaMetrics, Mimir or Thanos instead",
    ),
  retention: () => settingOption(hubSettings.retention),
  rollupRetention: () => settingOption(hubSettings.rollup_retention),
  retentionRule: () =>
    new Option(
      "--retention-rule <rule>",
      "retain series for less long, such as '{job=\"batch\"}: 7d'; repeatable (default: none)",
    ).argParser(collect),
  retentionSize: () => settingOption(hubSettings.retention_size),
  durability: () => settingOption(hubSettings.durability),
  memory: () => settingOption(hubSettings.memory),
  maxExemplars: () => settingOption(hubSettings.max_exemplars),
  embedOrigins: () => settingOption(hubSettings.embed_origins),
  traceUrl: () => settingOption(hubSettings.trace_url),
  queryWorkers: () => settingOption(hubSettings.query_workers),
  enableFeature: () => settingOption(hubSettings.enable_feature),
  nativeHistogramBucketLimit: () => settingOption(hubSettings.native_histogram_bucket_limit),
  ingestWorkers: () => settingOption(hubSettings.ingest_workers),
  ...prometheusFlags,
  prometheusConfig: () =>
    new Option(
      "--prometheus-config <file>",
      "use scrape_configs and remote_write of this prometheus.yml",
    ),
  config: () =>
    new Option("--config <file>", "configuration file (default: gpulse.yaml if it exists)"),
  sysfs: () => settingOption(generalSettings.sysfs),
  procfs: () => settingOption(generalSettings.procfs),
  kubeletSocket: () => settingOption(generalSettings.kubelet_socket),
  logLevel: (fallback) => settingOption(generalSettings.log_level, fallback),
} as const satisfies Readonly<Record<string, (fallback?: string) => Option>>;

export type SharedFlag = keyof typeof shared;

/** `logLevel` sets the default for a command that logs less than usual. */
export function addFlags(
  command: Command,
  names: readonly SharedFlag[],
  defaults: { readonly logLevel?: string } = {},
): Command {
  for (const name of names)
    command.addOption(name === "logLevel" ? shared.logLevel(defaults.logLevel) : shared[name]());
  return command;
}

export const readingFlags: readonly SharedFlag[] = [
  "source",
  "interval",
  "boundWindow",
  "tensorPrecision",
  "hostName",
  "config",
  "sysfs",
  "procfs",
  "kubeletSocket",
  "logLevel",
];
