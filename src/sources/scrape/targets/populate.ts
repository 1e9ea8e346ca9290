/** Turns discovered targets into scrape targets: defaults, relabeling, and the checks that Prometheus makes. Pure. */
import { formatDuration } from "../../../config/duration.ts";
import { type LabelSet, labelSet } from "../../../model/labels.ts";
import { relabel } from "../../../formats/relabel/relabel.ts";
import type { ScrapeConfig } from "../config/types.ts";
import type { TargetLabels } from "../discovery/group.ts";
import { lacksPort } from "./target.ts";

export type PopulatedTarget =
  | {
      readonly is: "active";
      /** All labels but `__meta_…`; the others that begin with `__` configure the scrape. */
      readonly labels: LabelSet;
      readonly discovered: LabelSet;
      readonly intervalMs: number;
      readonly timeoutMs: number;
    }
  | { readonly is: "dropped"; readonly discovered: LabelSet }
  | { readonly is: "broken"; readonly why: string };

export function populateTarget(
  target: TargetLabels,
  group: TargetLabels,
  config: ScrapeConfig,
): PopulatedTarget {
  const discovered = withDefaults(target, group, config);
  const relabelled = relabel(discovered, config.relabelRules);
  if (relabelled === undefined) return { is: "dropped", discovered };
  const labels = new Map(relabelled);
  const given = labels.get("__address__") ?? "";
  if (given === "") return broken("it has no __address__");
  const scheme = labels.get("__scheme__") ?? "";
  let address = given;
  if (lacksPort(given)) {
    if (!["", "http", "https"].includes(scheme)) return broken(`its scheme is "${scheme}"`);
    address = `${given}:${scheme === "https" ? 443 : 80}`;
    labels.set("__address__", address);
  }
  if (address.includes("/")) return broken(`"${address}" is not a valid host and port`);
  const intervalMs = parseScrapeDuration(labels.get("__scrape_interval__") ?? "");
  const timeoutMs = parseScrapeDuration(labels.get("__scrape_timeout__") ?? "");
  if (intervalMs === undefined) return broken("its __scrape_interval__ is not a duration above 0");
  if (timeoutMs === undefined) return broken("its __scrape_timeout__ is not a duration above 0");
  if (timeoutMs > intervalMs) return broken("its scrape timeout is longer than its interval");
  for (const name of labels.keys()) if (name.startsWith("__meta_")) labels.delete(name);
  if ((labels.get("instance") ?? "") === "") labels.set("instance", address);
  return {
    is: "active",
    labels: labelSet(Object.fromEntries(labels)),
    discovered,
    intervalMs,
    timeoutMs,
  };
}

function withDefaults(target: TargetLabels, group: TargetLabels, config: ScrapeConfig): LabelSet {
  const labels: Record<string, string> = { ...group, ...target };
  const defaults: TargetLabels = {
    job: config.jobName,
    __scrape_interval__: formatDuration(config.intervalMs),
    __scrape_timeout__: formatDuration(config.timeoutMs),
    __metrics_path__: config.metricsPath,
    __scheme__: config.scheme,
  };
  for (const [name, value] of Object.entries(defaults)) if (!labels[name]) labels[name] = value;
  for (const [name, [first]] of Object.entries(config.params))
    if (first !== undefined) labels[`__param_${name}`] = first;
  return labelSet(labels);
}

const broken = (why: string): PopulatedTarget => ({ is: "broken", why });

const unitsMs = [31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1];

/** Parses a duration in Prometheus's format: units from the largest down, whole numbers. Undefined if it is invalid or 0. */
export function parseScrapeDuration(text: string): number | undefined {
  const match =
    /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/.exec(text);
  if (match === null || text === "") return undefined;
  const ms = unitsMs.reduce((sum, unit, at) => sum + unit * Number(match[at + 1] ?? 0), 0);
  return ms > 0 ? ms : undefined;
}
