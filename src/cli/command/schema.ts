/** The schema of gpulse.yaml. docs/reference/config.md is generated from it; the defaults of all origins are in settings.ts. */
import * as v from "valibot";
import { closest } from "../../config/closest.ts";
import { flag, text } from "../../config/fields.ts";
import { compatNames } from "../../formats/compat/tables.ts";
import { ownKeys } from "../../sources/scrape/config/own-keys.ts";
import { parseSource } from "../../sources/open.ts";
import { GpulseError } from "../../base/error.ts";
import { alertingKeys, ruleFilesKey } from "./alerting.ts";
import { kernelLogKey } from "./kernel-log.ts";
import { jobsKeys } from "./jobs.ts";
import { machineLabelsKey } from "./machine-labels.ts";
import { nodeTaintKeys } from "./node-taints.ts";
import { podInfoKeys } from "./pod-info.ts";
import { lakeKeys } from "./lake.ts";
import { limitKeys } from "./limits.ts";
import { onAlertKey } from "./on-alert.ts";
import { outboundKeys } from "./outbound.ts";
import { pushKeys } from "./push.ts";
import { keysOf, optionalKey } from "./setting.ts";
import { agentSettings, generalSettings, hubSettings } from "./table.ts";
import { toKey } from "./to.ts";
import { accessKeys, webKeys } from "./web.ts";
import { storeSchema } from "../../storage/remote/schema.ts";

/** `sim:8`, or `sim: { gpus: 8 }`; parsed by the source's own schema. */
export function sourceSpec() {
  return v.pipe(
    v.union([v.string(), v.record(v.string(), v.unknown())], "a source such as sim:8"),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed || dataset.value === "auto") return;
      try {
        parseSource(dataset.value);
      } catch (thrown) {
        if (!(thrown instanceof GpulseError)) throw thrown;
        addIssue({ message: `a valid source (${thrown.message})` });
      }
    }),
    v.metadata({ takes: "source" }),
  );
}

/** The exporter whose metric names are exposed as well. */
export function compatName() {
  return v.picklist(compatNames, ({ input }) => {
    const near = closest(String(input), compatNames);
    return `one of ${compatNames.join(", ")}${near === undefined ? "" : ` (did you mean ${near}?)`}`;
  });
}

const general = keysOf(generalSettings);

export const configSchema = v.strictObject({
  interval: general.interval,
  sources: optionalKey(
    v.array(sourceSpec(), "a list of sources"),
    "Sources: `auto`, or a list such as `sim:8`.",
  ),
  compat: optionalKey(
    v.array(compatName(), "a list of exporters"),
    "Other exporters whose metric names are exposed as well: see [compatibility](../guides/compatibility.md).",
  ),
  to: toKey,
  ...ownKeys,
  rule_files: ruleFilesKey,
  bound_window: general.bound_window,
  tensor_precision: general.tensor_precision,
  host_name: general.host_name,
  machine_labels: machineLabelsKey,
  log_level: general.log_level,
  sysfs: general.sysfs,
  procfs: general.procfs,
  kubelet_socket: general.kubelet_socket,
  agent: optionalKey(
    v.strictObject({
      ...keysOf(agentSettings),
      ...webKeys,
      ...pushKeys,
      kernel_log: kernelLogKey,
    }),
    "`gpulse agent`.",
  ),
  hub: optionalKey(
    v.strictObject({
      ...keysOf(hubSettings),
      store: optionalKey(
        storeSchema,
        "A remote engine that stores the history instead: see [store elsewhere](store-elsewhere.md).",
      ),
      prometheus: optionalKey(
        storeSchema,
        "A Prometheus-compatible engine whose GPU exporters are shown: see [keep your exporter](../guides/moving-over.md#keep-your-exporter). Nothing is written to it.",
      ),
      prometheus_config: optionalKey(
        text("a file"),
        "A prometheus.yml with `scrape_configs` and `remote_write`.",
      ),
      open: optionalKey(flag(), "Open the browser when started from a desktop terminal."),
      insecure: optionalKey(
        flag(),
        "Accept plain HTTP on any address, without tokens if none exist.",
      ),
      ...lakeKeys,
      ...jobsKeys,
      ...nodeTaintKeys,
      ...podInfoKeys,
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
