/** The audit log: changes to this hub and rejected requests, newest first, for administrators. */
import { hubTimeMs } from "../../live/feed.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";

interface Entry {
  readonly time: string;
  readonly who: string;
  readonly by: string;
  readonly address?: string;
  readonly what: string;
  readonly target?: string;
  readonly outcome: "done" | "refused";
  readonly status?: number;
  readonly why?: string;
}

export function Audit() {
  const answer = useJson<{ readonly entries: readonly Entry[] }>("api/audit?limit=200", 15_000);
  if (answer.error !== undefined && answer.error.status !== 0)
    return (
      <Banner level="note" title="Only administrators see the audit log.">
        {answer.error.message}
      </Banner>
    );
  const rows = answer.value?.entries.map((entry, at) => ({ ...entry, at }));
  return (
    <Table
      caption="Audit"
      class="stacked"
      columns={columns}
      rows={rows}
      rowKey={({ at, time }) => `${time} ${at}`}
      empty={<Empty title="No changes yet." />}
    />
  );
}

const columns: readonly TableColumn<Entry & { readonly at: number }>[] = [
  {
    key: "when",
    label: "When",
    by: ({ time }) => time,
    cell: ({ time }) => (
      <time dateTime={time} title={time}>
        {formatAge(hubTimeMs() - Date.parse(time))} ago
      </time>
    ),
  },
  {
    key: "who",
    label: "Who",
    by: ({ who }) => who,
    cell: ({ who, by, address }) => (
      <>
        <strong>{who}</strong>{" "}
        <span class="unit">
          {by}
          {address === undefined ? "" : `, ${address}`}
        </span>
      </>
    ),
  },
  { key: "what", label: "What", by: ({ what }) => what, cell: ({ what }) => <code>{what}</code> },
  {
    key: "target",
    label: "Of what",
    by: ({ target }) => target ?? "",
    cell: ({ target }) => target ?? "",
  },
  {
    key: "outcome",
    label: "Outcome",
    by: ({ outcome }) => outcome,
    cell: ({ outcome, status, why }) => (
      <span class="word">
        {outcome}
        {status === undefined ? "" : ` ${status}`}
        {why === undefined ? "" : `: ${why}`}
      </span>
    ),
  },
];
