/** How many alerts fire, by name and severity: `GET /api/alert-summary`, and part of the data in a page's HTML. Types and pure functions only. */

export interface AlertCount {
  readonly name: string;
  /** Empty where the rule sets none. */
  readonly severity: string;
  readonly count: number;
}

export interface AlertSummary {
  /** Firing, neither silenced nor inhibited; most first. */
  readonly active: readonly AlertCount[];
  readonly silenced: number;
  readonly inhibited: number;
}

/** `labels`: those of each active alert. */
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
