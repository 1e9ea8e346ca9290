/** The effective settings of a run: flags override variables, variables the file, the file the defaults. */
import type { Env } from "../../config/secrets.ts";
import type { Feature } from "./features.ts";
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { loadFile } from "../../config/file.ts";
import type { CompatName } from "../../formats/compat/tables.ts";
import type { ActivityOptions } from "../../pipeline/transforms/activity.ts";
import type { StoreAddress } from "../../storage/remote/address.ts";
import { addressOf, type StoreConfig } from "../../storage/remote/schema.ts";
import type { WebListenOptions } from "../../net/http/web-listener.ts";
import type { KernelLogTarget } from "../../sinks/kernel-log/define.ts";
import type { LogLevel } from "../../base/log.ts";
import type { SourceSpec } from "../../sources/open.ts";
import { compatName, type ConfigFile, configSchema, sourceSpec } from "./schema.ts";
import { type FlagsOf, parseSetting, parseSpec, readSetting } from "./setting.ts";
import { retentionRule, type RetentionRuleSettings } from "./retention-rules.ts";
import { agentSettings, generalSettings, hubSettings } from "./table.ts";
import { type AlertingFlags, type AlertingSettings, alertingSettings } from "./alerting.ts";
import { type KernelLogFlags, kernelLogSettings } from "./kernel-log.ts";
import { type JobsFlags, type JobsSettings, jobsSettings } from "./jobs.ts";
import { type MachineLabels, machineLabelSettings } from "./machine-labels.ts";
import { type NodeTaintFlags, type NodeTaintSettings, nodeTaintSettings } from "./node-taints.ts";
import { type PodInfoFlags, type PodInfoSettings, podInfoSettings } from "./pod-info.ts";
import { type LakeFlags, type LakeSettings, lakeSettings } from "./lake.ts";
import { type LimitSettings, limitSettings } from "./limits.ts";
import { type AlertActionSettings, onAlertSettings } from "./on-alert.ts";
import { type OutboundFlags, type OutboundSettings, outboundSettings } from "./outbound.ts";
import { type PrometheusFlags, prometheusSettings } from "./prometheus.ts";
import { type PushFlags, type PushSettings, pushSettings } from "./push.ts";
import { type SinkSpec, type ToFlags, toSettings } from "./to.ts";
import { type AccessSettings, accessSettings, type WebFlags, webSettings } from "./web.ts";

export interface Settings {
  readonly intervalMs: number;
  readonly sources: readonly SourceSpec[];
  readonly compat: readonly CompatName[];
  /** How FLOP/s and the bound are derived. */
  readonly activity: Required<ActivityOptions>;
  readonly hostName: string;
  /** Labels of this machine, such as room and rack, on `gpu_info` and `host_info`. */
  readonly machineLabels: MachineLabels;
  readonly logLevel: LogLevel;
  readonly sysfs: string;
  readonly procfs: string;
  readonly kubeletSocket: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly metricsPath: string;
  /** Data folder of the hub. */
  readonly dataDir: string;
  readonly retentionMs: number;
  /** 0 disables rollups. */
  readonly rollupRetentionMs: number;
  readonly retentionRules: readonly RetentionRuleSettings[];
  /** Maximum size of the history; undefined if unlimited. */
  readonly retentionBytes: number | undefined;
  /** What acknowledged samples survive: a crash of the process, or a power failure. */
  readonly durability: "process" | "power";
  /** Memory the hub may use; undefined: derived from the cgroup or the machine. */
  readonly memoryBytes: number | undefined;
  /** Maximum number of exemplars of all series together. */
  readonly maxExemplars: number;
  /** Origins whose pages may embed boards in a frame. */
  readonly embedOrigins: readonly string[];
  /** URL template for a trace, with labels of an exemplar in braces. */
  readonly traceUrl: string | undefined;
  /** Number of threads for large queries; undefined: by the number of cores. */
  readonly queryWorkers: number | undefined;
  /** Number of threads that decode received requests; undefined: a default for the machine. */
  readonly ingestWorkers: number | undefined;
  /** Prometheus feature flags. */
  readonly features: readonly Feature[];
  /** Bucket limit of received native histograms; 0 for no limit. */
  readonly bucketLimit: number;
  /** External engine that stores the history instead. */
  readonly store: StoreAddress | undefined;
  /** External engine whose GPU exporters are shown; never written to. */
  readonly prometheus: StoreAddress | undefined;
  /** Parquet files besides the history. */
  readonly lake: LakeSettings;
  readonly jobs: JobsSettings;
  readonly nodeTaints: NodeTaintSettings;
  readonly podInfo: PodInfoSettings;
  readonly open: boolean;
  readonly insecure: boolean;
  /** TLS and users of the server. */
  readonly web: WebListenOptions;
  /** Hubs an agent pushes to; empty if it does not push. */
  readonly push: PushSettings;
  /** Further sinks. */
  readonly to: readonly SinkSpec[];
  /** Where an agent forwards kernel log lines about GPUs. */
  readonly kernelLog: KernelLogTarget | undefined;
  readonly access: AccessSettings;
  /** Rate limits per client set in the file. */
  readonly limits: LimitSettings;
  /** Addresses that may be contacted. */
  readonly outbound: OutboundSettings;
  readonly alerting: AlertingSettings;
  /** Actions on incoming alerts. */
  readonly onAlert: readonly AlertActionSettings[];
  /** The prometheus.yml with the scrape configuration. */
  readonly prometheusConfig: string | undefined;
  /** The gpulse.yaml in use, which may also contain a scrape configuration. */
  readonly configFile: string | undefined;
}

/** Flags as commander returns them: unvalidated text. */
export interface FlagValues
  extends
    FlagsOf<typeof generalSettings>,
    FlagsOf<typeof agentSettings>,
    FlagsOf<typeof hubSettings>,
    PrometheusFlags,
    WebFlags,
    PushFlags,
    ToFlags,
    KernelLogFlags,
    AlertingFlags,
    JobsFlags,
    NodeTaintFlags,
    PodInfoFlags,
    LakeFlags,
    OutboundFlags {
  readonly config?: string;
  readonly source?: readonly string[];
  readonly compat?: readonly string[];
  readonly machineLabel?: readonly string[];
  readonly store?: string;
  readonly prometheusConfig?: string;
  readonly retentionRule?: readonly string[];
  readonly open?: boolean;
  readonly insecure?: boolean;
}

const defaultConfigFile = "gpulse.yaml";

export async function resolveSettings(
  role: "agent" | "hub",
  flags: FlagValues,
  env: Env,
): Promise<Settings> {
  const file = await readConfig(flags.config, env);
  const { agent, hub } = file;
  return {
    intervalMs: readSetting(generalSettings, "interval", flags, env, file),
    sources: flags.source
      ?.filter((url) => url !== "none")
      .map((url) => parseSpec(sourceSpec(), "--source", url)) ??
      file.sources ?? ["auto"],
    compat: [
      ...new Set(
        flags.compat
          ?.flatMap((names) => names.split(","))
          .map((name) => parseSetting(compatName(), "--compat", name.trim())) ??
          file.compat ??
          [],
      ),
    ],
    activity: {
      windowMs: readSetting(generalSettings, "bound_window", flags, env, file),
      precision: readSetting(generalSettings, "tensor_precision", flags, env, file),
    },
    hostName: readSetting(generalSettings, "host_name", flags, env, file) ?? hostname(),
    machineLabels: machineLabelSettings(flags.machineLabel, file.machine_labels),
    logLevel: readSetting(generalSettings, "log_level", flags, env, file),
    sysfs: readSetting(generalSettings, "sysfs", flags, env, file),
    procfs: readSetting(generalSettings, "procfs", flags, env, file),
    kubeletSocket: readSetting(generalSettings, "kubelet_socket", flags, env, file),
    listen:
      role === "agent"
        ? {
            host: readSetting(agentSettings, "host", flags, env, agent),
            port: readSetting(agentSettings, "port", flags, env, agent),
          }
        : {
            host: readSetting(hubSettings, "host", flags, env, hub),
            port: readSetting(hubSettings, "port", flags, env, hub),
          },
    metricsPath: readSetting(
      agentSettings,
      "metrics_path",
      flags,
      role === "agent" ? env : {},
      agent,
    ),
    dataDir: readSetting(hubSettings, "data", flags, env, hub),
    retentionMs: readSetting(hubSettings, "retention", flags, env, hub),
    rollupRetentionMs: readSetting(hubSettings, "rollup_retention", flags, env, hub),
    retentionRules:
      flags.retentionRule?.map((rule) => parseSetting(retentionRule(), "--retention-rule", rule)) ??
      hub?.retention_rules ??
      [],
    retentionBytes: readSetting(hubSettings, "retention_size", flags, env, hub),
    durability: readSetting(hubSettings, "durability", flags, env, hub),
    memoryBytes: readSetting(hubSettings, "memory", flags, env, hub),
    maxExemplars: readSetting(hubSettings, "max_exemplars", flags, env, hub),
    embedOrigins: readSetting(hubSettings, "embed_origins", flags, env, hub) ?? [],
    traceUrl: readSetting(hubSettings, "trace_url", flags, env, hub),
    queryWorkers: readSetting(hubSettings, "query_workers", flags, env, hub),
    ingestWorkers: readSetting(hubSettings, "ingest_workers", flags, env, hub),
    features: readSetting(hubSettings, "enable_feature", flags, env, hub) ?? [],
    bucketLimit: readSetting(hubSettings, "native_histogram_bucket_limit", flags, env, hub),
    lake: lakeSettings(flags, hub),
    jobs: jobsSettings(flags, hub, configFileOf(flags.config)),
    nodeTaints: nodeTaintSettings(flags, hub),
    podInfo: podInfoSettings(flags, hub),
    store: engineOf(flags.store ?? env["GPULSE_STORE"], file.hub?.store),
    prometheus: prometheusSettings(flags, env, file.hub?.prometheus),
    open: flags.open === false ? false : (hub?.open ?? true),
    insecure: flags.insecure ?? hub?.insecure ?? false,
    web: webSettings(flags, file[role]),
    push: pushSettings(flags, agent, env),
    to: toSettings(flags, file.to),
    kernelLog: role === "agent" ? kernelLogSettings(flags, agent?.kernel_log, env) : undefined,
    access: accessSettings(flags, hub),
    outbound: outboundSettings(flags, hub),
    limits: limitSettings(hub),
    alerting: alertingSettings(flags, hub, configFileOf(flags.config)),
    onAlert: onAlertSettings(hub),
    prometheusConfig:
      flags.prometheusConfig === ""
        ? undefined
        : (flags.prometheusConfig ?? hub?.prometheus_config),
    configFile: configFileOf(flags.config),
  };
}

function engineOf(
  given: string | undefined,
  configured: StoreConfig | undefined,
): StoreAddress | undefined {
  const engine = given === undefined || given === "" ? configured : given;
  return engine === undefined ? undefined : addressOf(engine);
}

/** A file that is named explicitly must exist; the default file is optional. */
async function readConfig(path: string | undefined, env: Env): Promise<ConfigFile> {
  const file = configFileOf(path);
  return file === undefined ? {} : loadFile(file, configSchema, env);
}

function configFileOf(given: string | undefined): string | undefined {
  return given ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
}
