/** The settings a run ends up with: flags win over variables, variables over the file, the file over defaults. */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { flag, logLevel, port, text } from "../../config/fields.ts";
import { loadFile } from "../../config/file.ts";
import { GpulseError } from "../../base/error.ts";
import type { CompatName } from "../../formats/compat/tables.ts";
import type { StoreAddress } from "../../storage/remote/address.ts";
import { addressOf } from "../../storage/remote/schema.ts";
import type { WebListenOptions } from "../../net/http/web-listener.ts";
import type { KernelLogTarget } from "../../sinks/kernel-log/define.ts";
import type { LogLevel } from "../../base/log.ts";
import type { SourceSpec } from "../../sources/open.ts";
import {
  compatName,
  type ConfigFile,
  configSchema,
  durability,
  interval,
  memory,
  metricsPath,
  retention,
  retentionSize,
  sourceSpec,
} from "./schema.ts";
import { type AlertingFlags, type AlertingSettings, alertingSettings } from "./alerting.ts";
import { type KernelLogFlags, kernelLogSettings } from "./kernel-log.ts";
import { type LakeFlags, type LakeSettings, lakeSettings } from "./lake.ts";
import { type LimitSettings, limitSettings } from "./limits.ts";
import { type AlertActionSettings, onAlertSettings } from "./on-alert.ts";
import { type OutboundFlags, type OutboundSettings, outboundSettings } from "./outbound.ts";
import { type PushFlags, type PushSettings, pushSettings } from "./push.ts";
import { type SinkSpec, type ToFlags, toSettings } from "./to.ts";
import { type AccessSettings, accessSettings, type WebFlags, webSettings } from "./web.ts";

export interface Settings {
  readonly intervalMs: number;
  readonly sources: readonly SourceSpec[];
  readonly compat: readonly CompatName[];
  readonly hostName: string;
  readonly logLevel: LogLevel;
  readonly sysfs: string;
  readonly procfs: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly metricsPath: string;
  /** Where the hub keeps its history. */
  readonly dataDir: string;
  readonly retentionMs: number;
  /** Bytes of the history; unlimited where undefined. */
  readonly retentionBytes: number | undefined;
  /** What an acknowledged sample survives. */
  readonly durability: "process" | "power";
  /** Bytes of memory the hub may use; undefined: as the cgroup or the machine allows. */
  readonly memoryBytes: number | undefined;
  /** The engine elsewhere that keeps the history instead. */
  readonly store: StoreAddress | undefined;
  /** The Parquet files it keeps beside. */
  readonly lake: LakeSettings;
  readonly open: boolean;
  readonly insecure: boolean;
  /** TLS and users of the server. */
  readonly web: WebListenOptions;
  /** Where an agent pushes to; no hub where it does not. */
  readonly push: PushSettings;
  /** Where else everything goes. */
  readonly to: readonly SinkSpec[];
  /** Where an agent sends the kernel's lines about GPUs. */
  readonly kernelLog: KernelLogTarget | undefined;
  readonly access: AccessSettings;
  /** How often one client may ask, where the file says it. */
  readonly limits: LimitSettings;
  /** Which addresses may be contacted. */
  readonly outbound: OutboundSettings;
  readonly alerting: AlertingSettings;
  /** What is done when an alert comes in. */
  readonly onAlert: readonly AlertActionSettings[];
  /** The prometheus.yml that tells what is scraped. */
  readonly prometheusConfig: string | undefined;
  /** The gpulse.yaml that was read; it may tell what is scraped as well. */
  readonly configFile: string | undefined;
}

/** Flags as commander hands them over: text, unchecked. */
export interface FlagValues
  extends WebFlags, PushFlags, ToFlags, KernelLogFlags, AlertingFlags, LakeFlags, OutboundFlags {
  readonly config?: string;
  readonly interval?: string;
  readonly source?: readonly string[];
  readonly compat?: readonly string[];
  readonly hostName?: string;
  readonly logLevel?: string;
  readonly sysfs?: string;
  readonly procfs?: string;
  readonly host?: string;
  readonly port?: string;
  readonly metricsPath?: string;
  readonly data?: string;
  readonly retention?: string;
  readonly retentionSize?: string;
  readonly durability?: string;
  readonly memory?: string;
  readonly store?: string;
  readonly prometheusConfig?: string;
  readonly open?: boolean;
  readonly insecure?: boolean;
}

export type Env = Readonly<Record<string, string | undefined>>;
export const defaultConfigFile = "gpulse.yaml";

export async function resolveSettings(
  role: "agent" | "hub",
  flags: FlagValues,
  env: Env,
): Promise<Settings> {
  const file = await readConfig(flags.config, env);
  const pick = <Schema extends v.GenericSchema>(
    schema: Schema,
    origins: Origins<v.InferOutput<Schema>>,
  ): v.InferOutput<Schema> => {
    for (const [name, value] of origins.outside)
      if (value !== undefined && value !== "") return read(schema, name, value);
    return origins.file ?? origins.otherwise;
  };
  const own = file[role];
  const variable = (name: string): readonly [string, string | undefined] => [
    name,
    role === "agent" ? env[name] : undefined,
  ];
  return {
    intervalMs: pick(interval(), {
      outside: [
        ["--interval", flags.interval],
        ["COLLECTION_INTERVAL", env["COLLECTION_INTERVAL"]],
      ],
      file: file.interval,
      otherwise: 1_000,
    }),
    sources: flags.source
      ?.filter((url) => url !== "none")
      .map((url) => read(sourceSpec(), "--source", url)) ??
      file.sources ?? ["auto"],
    compat: [
      ...new Set(
        flags.compat
          ?.flatMap((names) => names.split(","))
          .map((name) => read(compatName(), "--compat", name.trim())) ??
          file.compat ??
          [],
      ),
    ],
    hostName: pick(text("a host name"), {
      outside: [["--host-name", flags.hostName]],
      file: file.host_name,
      otherwise: hostname(),
    }),
    logLevel: pick(logLevel(), {
      outside: [
        ["--log-level", flags.logLevel],
        ["LOG_LEVEL", env["LOG_LEVEL"]],
      ],
      file: file.log_level,
      otherwise: "info",
    }),
    sysfs: pick(text("a folder"), {
      outside: [["--sysfs", flags.sysfs]],
      file: file.sysfs,
      otherwise: "/sys",
    }),
    procfs: pick(text("a folder"), {
      outside: [["--procfs", flags.procfs]],
      file: file.procfs,
      otherwise: "/proc",
    }),
    listen: {
      host: pick(text("an address"), {
        outside: [["--host", flags.host]],
        file: own?.host,
        otherwise: role === "agent" ? "0.0.0.0" : "127.0.0.1",
      }),
      port: pick(port(), {
        outside: [["--port", flags.port], variable("EXPORTER_PORT")],
        file: own?.port,
        otherwise: role === "agent" ? 9400 : 9410,
      }),
    },
    metricsPath: pick(metricsPath(), {
      outside: [["--metrics-path", flags.metricsPath], variable("METRICS_PATH")],
      file: file.agent?.metrics_path,
      otherwise: "/metrics",
    }),
    dataDir: pick(text("a folder"), {
      outside: [
        ["--data", flags.data],
        ["GPULSE_DATA", env["GPULSE_DATA"]],
      ],
      file: file.hub?.data,
      otherwise: "gpulse-data",
    }),
    retentionMs: pick(retention(), {
      outside: [["--retention", flags.retention]],
      file: file.hub?.retention,
      otherwise: 30 * 86_400_000,
    }),
    retentionBytes: pick(v.optional(retentionSize()), {
      outside: [["--retention-size", flags.retentionSize]],
      file: file.hub?.retention_size,
      otherwise: undefined,
    }),
    durability: pick(durability(), {
      outside: [["--durability", flags.durability]],
      file: file.hub?.durability,
      otherwise: "process",
    }),
    memoryBytes: pick(v.optional(memory()), {
      outside: [
        ["--memory", flags.memory],
        ["GPULSE_MEMORY", env["GPULSE_MEMORY"]],
      ],
      file: file.hub?.memory,
      otherwise: undefined,
    }),
    lake: lakeSettings(flags, file.hub),
    store: storeOf(flags.store ?? env["GPULSE_STORE"], file),
    open:
      flags.open === false
        ? false
        : pick(flag(), { outside: [], file: file.hub?.open, otherwise: true }),
    insecure: flags.insecure ?? file.hub?.insecure ?? false,
    web: webSettings(flags, own),
    push: pushSettings(flags, file.agent, env),
    to: toSettings(flags, file.to),
    kernelLog: role === "agent" ? kernelLogSettings(flags, file.agent?.kernel_log, env) : undefined,
    access: accessSettings(flags, file.hub),
    outbound: outboundSettings(flags, file.hub),
    limits: limitSettings(file.hub),
    alerting: alertingSettings(flags, file.hub, configFileOf(flags.config)),
    onAlert: onAlertSettings(file.hub),
    prometheusConfig:
      flags.prometheusConfig === ""
        ? undefined
        : (flags.prometheusConfig ?? file.hub?.prometheus_config),
    configFile: configFileOf(flags.config),
  };
}

function storeOf(given: string | undefined, { hub }: ConfigFile): StoreAddress | undefined {
  const store = given === undefined || given === "" ? hub?.store : given;
  return store === undefined ? undefined : addressOf(store);
}

interface Origins<Value> {
  /** Flags, then variables: the first that is set wins. */
  readonly outside: readonly (readonly [name: string, value: string | undefined])[];
  readonly file: Value | undefined;
  readonly otherwise: Value;
}

function read<Schema extends v.GenericSchema>(
  schema: Schema,
  name: string,
  value: string,
): v.InferOutput<Schema> {
  const checked = checkValue(schema, value);
  if (checked.ok) return checked.value;
  const [problem] = checked.problems;
  throw new GpulseError(
    name.startsWith("--") ? "USAGE" : "CONFIG_WRONG_VALUE",
    `${name} ${problem?.sentence ?? "is not understood."}`,
  );
}

/** A file that is named must be there; the usual one is read where it is. */
async function readConfig(path: string | undefined, env: Env): Promise<ConfigFile> {
  const file = configFileOf(path);
  return file === undefined ? {} : loadFile(file, configSchema, env);
}

function configFileOf(given: string | undefined): string | undefined {
  return given ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
}
