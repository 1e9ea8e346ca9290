/** Silences: active and pending ones first, expired ones on request. Expiring a silence makes its alerts notify again. */
import { useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { send } from "../../query/http.ts";
import type { FetchState } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { attempt } from "../../ui/attempt.ts";
import { toast } from "../../ui/toast.ts";
import { formatInstant } from "../../view-state/range.ts";
import { formatMatcher, type GettableSilence } from "./api.ts";
import { pendingSilence } from "./silence-dialog.tsx";

export function Silences({ silences }: { silences: FetchState<readonly GettableSilence[]> }) {
  const [ended, setEnded] = useState(false);
  const shown = silences.value?.filter(({ status }) => ended || status.state !== "expired");
  const expire = (silence: GettableSilence): void => {
    void attempt(
      () => send("DELETE", `api/v2/silence/${silence.id}`),
      () => {
        toast("The silence is expired.");
        silences.again();
      },
    );
  };
  if (silences.error !== undefined && silences.error.status !== 0)
    return (
      <Banner level="note" title="Silences are managed elsewhere.">
        {silences.error.message}
      </Banner>
    );
  const columns: readonly TableColumn<GettableSilence>[] = [
    {
      key: "state",
      label: "State",
      by: ({ status }) => status.state,
      cell: ({ status }) => <span class="word">{status.state}</span>,
    },
    {
      key: "matchers",
      label: "Alerts with",
      cell: ({ matchers }) => (
        <ul class="labels">
          {matchers.map((matcher) => (
            <li key={matcher.name}>{formatMatcher(matcher)}</li>
          ))}
        </ul>
      ),
    },
    { key: "comment", label: "Comment", cell: ({ comment }) => comment },
    {
      key: "by",
      label: "By",
      by: ({ createdBy }) => createdBy,
      cell: ({ createdBy }) => createdBy,
    },
    {
      key: "ends",
      label: "Ends",
      by: ({ endsAt }) => endsAt,
      cell: ({ endsAt, status }) => {
        const ms = Date.parse(endsAt);
        const left = ms - hubTimeMs();
        return (
          <span data-tip={formatInstant(ms)}>
            {status.state === "expired" ? `${formatAge(-left)} ago` : `in ${formatAge(left)}`}
          </span>
        );
      },
    },
    {
      key: "do",
      label: "Action",
      cell: (silence) =>
        silence.status.state === "expired" ? (
          <button
            type="button"
            class="quiet changes"
            onClick={() => {
              pendingSilence.value = {
                title: silence.matchers[0]?.value ?? "again",
                matchers: silence.matchers.map(({ name, value, isRegex }) => ({
                  name,
                  value,
                  isRegex,
                  on: true,
                })),
              };
            }}
          >
            Again
          </button>
        ) : (
          <button
            type="button"
            class="quiet changes"
            aria-label={`Expire the silence of ${silence.matchers.map(formatMatcher).join(", ")}`}
            onClick={() => expire(silence)}
          >
            Expire
          </button>
        ),
    },
  ];
  return (
    <>
      <div class="bar-line">
        <span class="spacer" />
        <label class="check">
          <input
            type="checkbox"
            checked={ended}
            onChange={(event) => setEnded(event.currentTarget.checked)}
          />
          show expired
        </label>
      </div>
      <Table
        caption="Silences"
        class="stacked"
        columns={columns}
        rows={shown}
        rowKey={({ id }) => id}
        empty={<Empty title="No active silence.">Silence an alert on the Active tab.</Empty>}
      />
    </>
  );
}
