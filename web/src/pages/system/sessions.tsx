/** Sessions on this page for every kind of login; an administrator can end them, including those of an identity provider. */
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { send } from "../../query/http.ts";
import { useJson } from "../../query/use-fetch.ts";
import { attempt } from "../../ui/attempt.ts";
import { Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.ts";
import { formatInstant } from "../../view-state/range.ts";
import type { ApiSession, SessionsResponse } from "./api.ts";

export function Sessions() {
  const answer = useJson<SessionsResponse>("api/sessions", 15_000);
  const end = (session: ApiSession, everywhere: boolean): void =>
    void attempt(
      () => send("DELETE", `api/sessions/${session.id}${everywhere ? "?everywhere=yes" : ""}`),
      () => {
        toast(`${session.name} is logged out${everywhere ? " everywhere" : ""}.`);
        answer.again();
      },
    );
  const sessions = answer.value?.sessions;
  const isOften = ({ name, how }: ApiSession): boolean =>
    (sessions ?? []).filter((one) => one.name === name && one.how === how).length > 1;
  return (
    <section aria-label="Logged in">
      <h2 class="section">Logged in</h2>
      <Table
        caption="Logged in"
        class="stacked sessions"
        columns={columns(end, isOften)}
        rows={sessions}
        rowKey={({ id }) => id}
        empty={<Empty title="Nobody is logged in." />}
      />
    </section>
  );
}

const knownBy: Readonly<Record<ApiSession["how"], string>> = {
  user: "password",
  oidc: "provider",
  token: "token",
  "file-user": "web configuration file",
};

const columns = (
  end: (session: ApiSession, everywhere: boolean) => void,
  isOften: (session: ApiSession) => boolean,
): readonly TableColumn<ApiSession>[] => [
  {
    key: "name",
    label: "Name",
    by: ({ name }) => name,
    cell: ({ name }) => <strong>{name}</strong>,
  },
  {
    key: "how",
    label: "Login by",
    by: ({ how }) => knownBy[how],
    cell: ({ how }) => knownBy[how],
  },
  { key: "scope", label: "Scope", by: ({ scope }) => scope, cell: ({ scope }) => scope },
  {
    key: "since",
    label: "Since",
    by: ({ opened }) => opened,
    cell: ({ opened }) => formatInstant(Date.parse(opened)).slice(0, 16),
  },
  {
    key: "seen",
    label: "Last seen",
    tip: "To the minute.",
    by: ({ seen }) => seen,
    cell: ({ seen }) => `${formatAge(hubTimeMs() - Date.parse(seen))} ago`,
  },
  {
    key: "ends",
    label: "Expires",
    tip: "At the latest; earlier if idle.",
    by: ({ ends }) => ends,
    cell: ({ ends }) => formatInstant(Date.parse(ends)).slice(0, 16),
  },
  {
    key: "do",
    label: "Action",
    cell: (session) => (
      <span class="acts">
        {session.own ? (
          <span class="unit">this browser</span>
        ) : (
          <button
            type="button"
            class="quiet"
            aria-label={`Log out: ${session.name}`}
            onClick={() => end(session, false)}
          >
            Log out
          </button>
        )}
        {!session.own && isOften(session) && (
          <button
            type="button"
            class="quiet"
            aria-label={`Log out everywhere: ${session.name}`}
            onClick={() => end(session, true)}
          >
            Everywhere
          </button>
        )}
      </span>
    ),
  },
];
