/** Notifications: sent, failed or suppressed, and why; and a test of each receiver. */
import { useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Labels } from "../../ui/labels.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { formatInstant } from "../../view-state/range.ts";
import type { ApiDelivery } from "./api.ts";
import { ReceiverTests } from "./receiver-tests.tsx";

const outcomes = ["all", "sent", "failed", "suppressed"] as const;

export function History() {
  const answer = useJson<{ readonly deliveries: readonly ApiDelivery[] }>(
    "api/alerts/deliveries?limit=1000",
    10_000,
  );
  const [only, setOnly] = useState<(typeof outcomes)[number]>("all");
  if (answer.error !== undefined && answer.error.status !== 0)
    return (
      <Banner level="note" title="Deliveries are recorded elsewhere.">
        {answer.error.message}
      </Banner>
    );
  const rows = answer.value?.deliveries.filter(({ outcome }) => only === "all" || outcome === only);
  return (
    <>
      <ReceiverTests />
      <div class="bar-line">
        <h2 class="section">Notifications</h2>
        <span class="spacer" />
        <div class="choice" role="group" aria-label="Outcome">
          {outcomes.map((outcome) => (
            <button
              key={outcome}
              type="button"
              aria-pressed={only === outcome}
              onClick={() => setOnly(outcome)}
            >
              {outcome}
            </button>
          ))}
        </div>
      </div>
      <Table
        caption="Notifications with their outcome"
        class="stacked"
        columns={columns}
        rows={rows}
        rowKey={(row) =>
          `${row.time} ${row.receiver} ${row.channel ?? ""} ${row.outcome} ${JSON.stringify(row.group)} ${row.alerts.join()}`
        }
        rowLevel={({ outcome }) => (outcome === "failed" ? "warn" : undefined)}
        empty={
          <Empty title="No notification was sent yet.">
            When an alert fires and a receiver is set up, each notification is listed here with its
            outcome.
          </Empty>
        }
      />
    </>
  );
}

const columns: readonly TableColumn<ApiDelivery>[] = [
  {
    key: "time",
    label: "When",
    by: ({ time }) => time,
    rowTip: ({ time }) => `${formatAge(hubTimeMs() - Date.parse(time))} ago`,
    cell: ({ time }) => <span class="nowrap">{formatInstant(Date.parse(time))}</span>,
  },
  {
    key: "outcome",
    label: "Outcome",
    by: ({ outcome }) => outcome,
    cell: ({ outcome }) => (
      <span class={`word ${outcome === "failed" ? "warn" : ""}`}>{outcome}</span>
    ),
  },
  {
    key: "status",
    label: "Alert",
    by: ({ group, status }) => `${group["alertname"] ?? "alerts"} ${status}`,
    cell: ({ group, status, alerts }) => (
      <>
        <strong>{group["alertname"] ?? "alerts"}</strong> {status}
        {alerts.length > 1 && <span class="unit"> · {alerts.length} alerts</span>}
        <Labels labels={group} without={["alertname"]} />
      </>
    ),
  },
  {
    key: "to",
    label: "To",
    by: ({ receiver }) => receiver,
    cell: ({ receiver, channel }) => (
      <>
        {receiver}
        {channel !== undefined && <span class="unit"> by {channel}</span>}
      </>
    ),
  },
  {
    key: "why",
    label: "Why",
    by: ({ why }) => why,
    cell: ({ why, attempts }) => (
      <>
        {why ?? ""}
        {attempts > 1 && <span class="unit"> {attempts} attempts</span>}
      </>
    ),
  },
];
