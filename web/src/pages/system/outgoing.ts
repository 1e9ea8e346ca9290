/** What sinks say of themselves, put together from their own metrics, one row a sink. Pure. */
import type { Sample } from "../../query/client.ts";

export interface Outgoing {
  readonly sink: string;
  /** Whose sink it is: this hub's, or an agent's. */
  readonly from: string;
  readonly up: number | undefined;
  readonly lagSeconds: number | undefined;
  readonly spoolBytes: number | undefined;
  readonly sent: number | undefined;
  readonly dropped: number;
}

export const outgoingQuery =
  '{__name__=~"gpulse_(ship_success|ship_lag_seconds|spool_bytes|ship_samples_total|spool_dropped_samples_total)",sink!=""}';

export function outgoingIn(samples: readonly Sample[]): readonly Outgoing[] {
  const rows = new Map<string, Outgoing>();
  for (const { labels, value } of samples) {
    const { __name__: name, sink = "", instance = "", outcome } = labels;
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
    rows.set(key, { ...row, ...told(row, name ?? "", outcome, value) });
  }
  return [...rows.values()];
}

function told(
  row: Outgoing,
  name: string,
  outcome: string | undefined,
  value: number,
): Partial<Outgoing> {
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
