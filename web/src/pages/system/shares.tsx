/** Shared links: the view, expiry and use count of each. They are created on the shared page itself. */
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { send } from "../../query/http.ts";
import { useJson } from "../../query/use-fetch.ts";
import { attempt } from "../../ui/attempt.ts";
import { Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.ts";
import { formatInstant } from "../../view-state/range.ts";
import type { ApiShare, SharesResponse } from "./api.ts";

export function Shares({ ended }: { ended: boolean }) {
  const answer = useJson<SharesResponse>("api/shares", 15_000);
  const revoke = (share: ApiShare): void =>
    void attempt(
      () => send("DELETE", `api/shares/${share.id}`),
      () => {
        toast(`${share.name} is revoked: its link no longer works.`);
        answer.again();
      },
    );
  const shares = answer.value?.shares.filter(({ state }) => ended || state === "live");
  return (
    <section aria-label="Shared links">
      <h2 class="section">Shared links</h2>
      <Table
        caption="Shared links"
        class="stacked shares"
        columns={columns(revoke)}
        rows={shares}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No shared links.">
            Create one with Share this view in the account menu at the top right.
          </Empty>
        }
      />
    </section>
  );
}

const columns = (revoke: (share: ApiShare) => void): readonly TableColumn<ApiShare>[] => [
  {
    key: "name",
    label: "Name",
    by: ({ name }) => name,
    cell: ({ name }) => <strong>{name}</strong>,
  },
  {
    key: "page",
    label: "Page",
    by: ({ page }) => page,
    cell: ({ page }) => (
      <a href={`.${page}`}>{page.length > 40 ? `${page.slice(0, 40)}…` : page}</a>
    ),
  },
  {
    key: "by",
    label: "Created by",
    by: ({ createdBy }) => createdBy,
    cell: ({ createdBy }) => createdBy,
  },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    cell: ({ state }) => <span class="word">{state}</span>,
  },
  {
    key: "expires",
    label: "Expires",
    by: ({ expires }) => expires,
    cell: ({ expires }) => formatInstant(Date.parse(expires)).slice(0, 16),
  },
  {
    key: "opened",
    label: "Opened",
    numeric: true,
    by: ({ opened }) => opened,
    cell: ({ opened }) => opened,
  },
  {
    key: "last",
    label: "Last opened",
    by: ({ lastOpened }) => lastOpened ?? "",
    cell: ({ lastOpened }) =>
      lastOpened === null ? "never" : `${formatAge(hubTimeMs() - Date.parse(lastOpened))} ago`,
  },
  {
    key: "do",
    label: "Action",
    cell: (share) =>
      share.state === "live" ? (
        <button
          type="button"
          class="quiet"
          aria-label={`Revoke ${share.name}`}
          onClick={() => revoke(share)}
        >
          Revoke
        </button>
      ) : null,
  },
];
