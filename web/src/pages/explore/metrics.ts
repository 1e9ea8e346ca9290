/** All metrics: those of the catalogue with their help, and all others that are scraped or stored. */
import { catalogue, type MetricEntry } from "../../../../src/model/catalogue/index.ts";

export interface MetricFacts {
  readonly name: string;
  readonly kind: string;
  readonly unit: string;
  readonly help: string;
  readonly group: MetricGroup;
  readonly labels: MetricEntry["labels"];
  /** True if the store has samples of it in the range; undefined until known. */
  readonly stored: boolean | undefined;
}

export const groups = ["GPU", "Machine", "Work", "gpulse itself", "Others"] as const;
export type MetricGroup = (typeof groups)[number];

const groupOf: Readonly<Record<MetricEntry["subject"], MetricGroup>> = {
  device: "GPU",
  host: "Machine",
  workload: "Work",
  self: "gpulse itself",
};

export type MetricMetadataMap = Readonly<
  Record<string, readonly { type: string; help: string; unit: string }[]>
>;

export function metricsOf(
  metadata: MetricMetadataMap,
  names: readonly string[] | undefined,
): readonly MetricFacts[] {
  const stored = names === undefined ? undefined : new Set(names);
  const own = catalogue.map(({ name, kind, unit, help, subject, labels }): MetricFacts => ({
    name,
    kind,
    unit,
    help,
    group: groupOf[subject],
    labels,
    stored: stored?.has(name),
  }));
  const known = new Set(own.map(({ name }) => name));
  const rest = [...new Set([...Object.keys(metadata), ...(names ?? [])])].filter(
    (name) => !known.has(name),
  );
  const others = rest.sort().map((name): MetricFacts => {
    const [first] = metadata[name] ?? [];
    return {
      name,
      kind: first?.type ?? "unknown",
      unit: first?.unit ?? "",
      help: first?.help ?? "",
      group: "Others",
      labels: [],
      stored: stored?.has(name),
    };
  });
  return [...own, ...others];
}

/** Every word must occur in name or help. */
export function searchMetrics(
  metrics: readonly MetricFacts[],
  typed: string,
): readonly MetricFacts[] {
  const words = typed.toLowerCase().split(/\s+/);
  return metrics.filter(({ name, help }) => {
    const text = `${name} ${help}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
