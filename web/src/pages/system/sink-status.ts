/** The status of sinks, from their own metrics, one row per sink. Pure. */

export interface SinkStatus {
  readonly sink: string;
  /** Owner of the sink: this hub, or an agent. */
  readonly from: string;
  readonly up: number | undefined;
  readonly lagSeconds: number | undefined;
  readonly spoolBytes: number | undefined;
  readonly sent: number | undefined;
  readonly dropped: number;
}

export interface SelfMetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses the hub's self-metrics from its `/metrics` page, because not every hub stores them. */
export function parseSelfMetrics(page: string): readonly SelfMetricSample[] {
  const lines = page.matchAll(/^(gpulse_(?:ship|spool|store)_\w+)(?:\{(.*)\})? (\S+)(?: \d+)?$/gm);
  return Array.from(lines, ([, name = "", labels = "", value = ""]) => ({
    name,
    labels: Object.fromEntries(
      Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key = "", text = ""]) => [
        key,
        text.replaceAll(/\\(.)/g, (_whole, letter: string) => (letter === "n" ? "\n" : letter)),
      ]),
    ),
    value: Number(value),
  }));
}

export function sinkStatuses(samples: readonly SelfMetricSample[]): readonly SinkStatus[] {
  const rows = new Map<string, SinkStatus>();
  for (const { name, labels, value } of samples) {
    const { sink, instance = "this hub", outcome } = labels;
    if (sink === undefined) continue;
    const key = `${instance}\n${sink}`;
    const row = rows.get(key) ?? {
      sink,
      from: instance,
      up: undefined,
      lagSeconds: undefined,
      spoolBytes: undefined,
      sent: undefined,
      dropped: 0,
    };
    rows.set(key, { ...row, ...statusUpdate(row, name, outcome, value) });
  }
  return [...rows.values()];
}

function statusUpdate(
  row: SinkStatus,
  name: string,
  outcome: string | undefined,
  value: number,
): Partial<SinkStatus> {
  switch (name) {
    case "gpulse_ship_success":
      return { up: value };
    case "gpulse_ship_lag_seconds":
      return { lagSeconds: value };
    case "gpulse_spool_bytes":
      return { spoolBytes: value };
    case "gpulse_ship_samples_total":
      return outcome === "sent" ? { sent: value } : { dropped: row.dropped + value };
    case "gpulse_spool_dropped_samples_total":
      return { dropped: row.dropped + value };
    default:
      return {};
  }
}
