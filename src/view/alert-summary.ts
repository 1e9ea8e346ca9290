/**
 * Counts of firing alerts by name and severity: the response of `GET /api/alert-summary`, and part of the data inlined in a page's
 * HTML. Types and pure functions only.
 */

export interface AlertCount {
  readonly name: string;
  /** Empty if the rule sets no severity. */
  readonly severity: string;
  readonly count: number;
}

export interface AlertSummary {
  /** Firing alerts that are neither silenced nor inhibited, highest count first. */
  readonly active: readonly AlertCount[];
  readonly silenced: number;
  readonly inhibited: number;
}

/** `labels`: the label set of each active alert. */
export function countAlerts(labels: Iterable<ReadonlyMap<string, string>>): readonly AlertCount[] {
  const counts = new Map<string, AlertCount>();
  for (const own of labels) {
    const [name, severity] = [own.get("alertname") ?? "alert", own.get("severity") ?? ""];
    const key = `${severity}\u0000${name}`;
    counts.set(key, { name, severity, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()].sort(
    (left, right) => right.count - left.count || (left.name < right.name ? -1 : 1),
  );
}

const bad: ReadonlySet<string> = new Set(["critical", "page", "error"]);

export const severityLevel = (severity: string): "note" | "warn" | "bad" =>
  bad.has(severity) ? "bad" : severity === "info" ? "note" : "warn";
