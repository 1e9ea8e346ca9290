/** The schema of gpulse.yaml. docs/reference/config.md is made from it; defaults are in settings.ts, one place for all origins. */
import * as v from "valibot";
import { closest } from "../../config/closest.ts";
import { byteSize, durationMs, flag, logLevel, port, text } from "../../config/fields.ts";
import { compatNames } from "../../formats/compat/tables.ts";
import { ownKeys } from "../../sources/scrape/config/own-keys.ts";
import { parseSource } from "../../sources/open.ts";
import { GpulseError } from "../../base/error.ts";
import { alertingKeys, ruleFilesKey } from "./alerting.ts";
import { kernelLogKey } from "./kernel-log.ts";
import { lakeKeys } from "./lake.ts";
import { limitKeys } from "./limits.ts";
import { onAlertKey } from "./on-alert.ts";
import { outboundKeys } from "./outbound.ts";
import { pushKeys } from "./push.ts";
import { toKey } from "./to.ts";
import { accessKeys, webKeys } from "./web.ts";
import { storeSchema } from "../../storage/remote/schema.ts";

const address = () => text("an address such as 127.0.0.1 or 0.0.0.0");

export const interval = () => durationMs(100, 86_400_000);

/** An hour to a thousand years: long enough that nobody's history is too old. */
export const retention = () => durationMs(3_600_000, 1_000 * 365 * 86_400_000);

/** The log alone may take an eighth of it. */
export const retentionSize = () => byteSize("64MB");

/** Below this a hub has no room left for queries. */
export const memory = () => byteSize("256MB");

export const durabilities = ["process", "power"] as const;
export const durability = () => v.picklist(durabilities, `one of ${durabilities.join(", ")}`);

/** Paths that the agent serves itself, whatever the metrics path is. */
export const agentPaths = ["/", "/stats", "/api/snapshot", "/healthz", "/readyz"] as const;

export function metricsPath() {
  const takes = "a path that begins with /, such as /metrics, without a query";
  return v.pipe(
    v.string(takes),
    v.regex(/^\/[\w./~-]{0,200}$/, takes),
    // A client resolves dot segments and a double slash before it asks, so such a path could never be reached.
    v.check((path) => new URL(path, "http://agent").pathname === path, takes),
    v.check(
      (path) => !agentPaths.some((own) => own === path),
      `a path of its own such as /metrics: the agent serves ${agentPaths.join(", ")} itself`,
    ),
  );
}

/** `sim:8`, or `sim: { gpus: 8 }`; read by the source's own schema. */
export function sourceSpec() {
  return v.pipe(
    v.union([v.string(), v.record(v.string(), v.unknown())], "a source such as sim:8"),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed || dataset.value === "auto") return;
      try {
        parseSource(dataset.value);
      } catch (thrown) {
        if (!(thrown instanceof GpulseError)) throw thrown;
        addIssue({ message: `a source that is understood (${thrown.message})` });
      }
    }),
    v.metadata({ takes: "source" }),
  );
}

/** The exporter whose names are given as well. */
export function compatName() {
  return v.picklist(compatNames, ({ input }) => {
    const near = closest(String(input), compatNames);
    return `one of ${compatNames.join(", ")}${near === undefined ? "" : ` (did you mean ${near}?)`}`;
  });
}

const withDescription = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.optional(v.pipe(schema, v.description(description)));

export const configSchema = v.strictObject({
  interval: withDescription(
    interval(),
    "How often GPUs are read. Slow readings come every 5 s at most, static ones every minute.",
  ),
  sources: withDescription(
    v.array(sourceSpec(), "a list of sources"),
    "Where numbers come from: `auto`, or a list such as `sim:8`.",
  ),
  compat: withDescription(
    v.array(compatName(), "a list of exporters"),
    "Other exporters whose metric names are given beside ours: see [compatibility](../guides/compatibility.md).",
  ),
  to: toKey,
  ...ownKeys,
  rule_files: ruleFilesKey,
  host_name: withDescription(
    text("a host name"),
    "The `host` label on every series. Default: this machine's name.",
  ),
  log_level: withDescription(logLevel(), "How much is logged."),
  sysfs: withDescription(text("a folder"), "Where /sys is mounted."),
  procfs: withDescription(text("a folder"), "Where /proc is mounted."),
  agent: withDescription(
    v.strictObject({
      host: withDescription(
        address(),
        "Address the agent listens on. All interfaces by default, since being scraped is its purpose.",
      ),
      port: withDescription(port(), "Port of the agent."),
      metrics_path: withDescription(metricsPath(), "Where the page for Prometheus is."),
      ...webKeys,
      ...pushKeys,
      kernel_log: kernelLogKey,
    }),
    "`gpulse agent`.",
  ),
  hub: withDescription(
    v.strictObject({
      host: withDescription(address(), "Address the hub listens on; loopback only unless told."),
      port: withDescription(port(), "Port of the hub and its page."),
      data: withDescription(text("a folder"), "Where the history is kept."),
      retention: withDescription(retention(), "How long the history is kept."),
      retention_size: withDescription(
        retentionSize(),
        "How large the history may become, blocks and log together; the oldest blocks are removed first.",
      ),
      durability: withDescription(
        durability(),
        "What an acknowledged sample survives: `process` (a kill of the hub; default) or `power` (a power cut: acknowledged after fdatasync).",
      ),
      memory: withDescription(
        memory(),
        "Memory that this process may use; budgets for queries and series are derived from it: see [limits](limits.md#memory). Default: the limit of the cgroup, or half of the machine's memory.",
      ),
      store: withDescription(
        storeSchema,
        "An engine elsewhere that keeps the history instead: see [store elsewhere](store-elsewhere.md).",
      ),
      prometheus_config: withDescription(
        text("a file"),
        "A prometheus.yml that tells what is scraped and where samples are sent.",
      ),
      open: withDescription(flag(), "Open the browser when started from a desktop terminal."),
      insecure: withDescription(
        flag(),
        "Allow listening beyond loopback without TLS, and without tokens where there are none.",
      ),
      ...lakeKeys,
      ...alertingKeys,
      on_alert: onAlertKey,
      ...accessKeys,
      ...outboundKeys,
      ...limitKeys,
    }),
    "`gpulse up`.",
  ),
});

export type ConfigFile = v.InferOutput<typeof configSchema>;
