/** The discovery sections of targets: static, file, HTTP, DNS and Kubernetes. Other kinds load with a warning and discover nothing. */
import * as v from "valibot";
import { labelSet } from "../../../model/labels.ts";
import { isLabelName, isLegacyLabelName } from "../../../formats/relabel/rule.ts";
import {
  count,
  duration,
  nonEmptyScalar,
  labelMap,
  list,
  scalar,
  webAddress,
} from "../../../config/yaml/fields.ts";
import { httpEntries, readHttp } from "./http-section.ts";
import { kubernetesSchema, readKubernetes } from "./kubernetes-section.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import type { DiscoveryConfig, TargetGroup } from "./types.ts";
import { unsupportedDiscoveryKeys, unsupportedEntries, reportUnsupported } from "./unsupported.ts";

const recordTypes = ["SRV", "A", "AAAA", "MX", "NS"] as const;

const groupSchema = v.strictObject({ targets: list(scalar("an address")), labels: labelMap() });

const recordType = () =>
  v.pipe(
    scalar(),
    v.transform((given) => given.toUpperCase()),
    v.picklist(recordTypes, `one of ${recordTypes.join(", ")}`),
  );

export const discoveryEntries = {
  static_configs: list(groupSchema),
  file_sd_configs: list(
    v.strictObject({
      files: list(nonEmptyScalar("a path")),
      refresh_interval: v.optional(duration(), "5m"),
    }),
  ),
  http_sd_configs: list(
    v.strictObject({
      url: webAddress(),
      refresh_interval: v.optional(duration(), "1m"),
      ...httpEntries,
    }),
  ),
  dns_sd_configs: list(
    v.strictObject({
      names: list(nonEmptyScalar("a name")),
      type: v.optional(recordType(), "SRV"),
      port: v.optional(count(), "0"),
      refresh_interval: v.optional(duration(), "30s"),
    }),
  ),
  kubernetes_sd_configs: list(kubernetesSchema),
  ...unsupportedEntries(unsupportedDiscoveryKeys, v.array(v.unknown(), "a list")),
};

const discoverySchema = v.strictObject(discoveryEntries);
export type DiscoveryRaw = v.InferOutput<typeof discoverySchema>;

/** `isRelabelled`: relabeling rules may still turn an invalid address into a valid one. */
export function readDiscovery(
  raw: DiscoveryRaw,
  isRelabelled: boolean,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): DiscoveryConfig {
  reportUnsupported(unsupportedDiscoveryKeys, raw, reading, path);
  return {
    static: raw.static_configs.map((group, index) =>
      readGroup(group, isRelabelled, reading, [...path, "static_configs", index]),
    ),
    file: raw.file_sd_configs.map(({ files, refresh_interval }, index) => {
      const here = [...path, "file_sd_configs", index];
      if (files.length === 0) reading.wrong(here, "files must name at least one file.");
      for (const [at, file] of files.entries())
        if (!/^[^*]*(\*[^/]*)?\.(json|yml|yaml)$/i.test(file))
          reading.wrong(
            [...here, "files", at],
            `${JSON.stringify(file)} must end in .json, .yml or .yaml, with a * only in its last part.`,
          );
      return {
        files: files.map((file) => reading.file(file)),
        refreshIntervalMs: refresh_interval,
      };
    }),
    http: raw.http_sd_configs.flatMap(({ url, refresh_interval, ...http }, index) => {
      const here = [...path, "http_sd_configs", index];
      const { part, inactive } = reading.part(findsNothing, () => readHttp(http, reading, here));
      return inactive === undefined
        ? [{ url, refreshIntervalMs: refresh_interval, http: part }]
        : [];
    }),
    dns: raw.dns_sd_configs.map(({ names, type, port, refresh_interval }, index) => {
      const here = [...path, "dns_sd_configs", index];
      if (names.length === 0) reading.wrong(here, "names must hold at least one name.");
      if (type !== "SRV" && port === 0)
        reading.wrong(here, `records of type ${type} carry no port: give one.`);
      return { names, type, port, refreshIntervalMs: refresh_interval };
    }),
    kubernetes: raw.kubernetes_sd_configs.flatMap((one, index) => {
      const here = [...path, "kubernetes_sd_configs", index];
      const { part, inactive } = reading.part(findsNothing, () =>
        readKubernetes(one, reading, here),
      );
      return inactive === undefined ? [part] : [];
    }),
  };
}

const findsNothing = "This discovery is inactive.";

/** True if a section contains discoveries but none of them is active here, so that it can never find a target. */
export function discoversNothing(raw: DiscoveryRaw, discovery: DiscoveryConfig): boolean {
  const isGiven = Object.entries(raw).some(
    ([key, value]) => key.endsWith("_sd_configs") && Array.isArray(value) && value.length > 0,
  );
  const lists: readonly (readonly unknown[])[] = Object.values(discovery);
  return isGiven && lists.every(({ length }) => length === 0);
}

function readGroup(
  { targets, labels }: v.InferOutput<typeof groupSchema>,
  isRelabelled: boolean,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): TargetGroup {
  for (const [index, target] of targets.entries())
    if (!isRelabelled && target.includes("/"))
      reading.wrong(
        [...path, "targets", index],
        `${JSON.stringify(target)} must be an address such as 127.0.0.1:9400; scheme and path are keys of the job.`,
      );
  checkLabels(labels, reading, [...path, "labels"]);
  return { targets, labels: labelSet(labels) };
}

export function checkLabels(
  labels: Readonly<Record<string, string>>,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): void {
  for (const name of Object.keys(labels))
    if (!(reading.legacyNames ? isLegacyLabelName : isLabelName)(name))
      reading.wrong([...path, name], `${JSON.stringify(name)} is not a valid label name.`);
}
