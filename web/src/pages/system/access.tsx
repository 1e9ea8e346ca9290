/** Access control for administrators: users, tokens with their permissions and last use, sessions, and shared links. */
import { useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { ApiError, send } from "../../query/http.ts";
import { loadMe } from "../../query/me.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { CopyText } from "../../ui/copy.tsx";
import { SchemaForm } from "../../ui/form.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { attempt } from "../../ui/attempt.ts";
import { toast } from "../../ui/toast.ts";
import { formatInstant } from "../../view-state/range.ts";
import type { CreatedToken, ApiToken, TokensResponse, UsersResponse } from "./api.ts";
import { Sessions } from "./sessions.tsx";
import { Shares } from "./shares.tsx";
import { Users } from "./users.tsx";

const DAY_SECONDS = 86_400;

const schema = {
  type: "object",
  required: ["name", "scope"],
  properties: {
    name: {
      type: "string",
      description: "Owner of the token: letters, digits and . _ @ -",
      pattern: "^[\\w.@-]{1,100}$",
    },
    scope: {
      enum: ["read", "push", "admin"],
      description: "read: queries and this page. push: send samples in. admin: everything.",
    },
    days: { type: "integer", minimum: 1, maximum: 36_500, description: "Empty: it never expires." },
  },
} as const;

export function Access() {
  const answer = useJson<TokensResponse>("api/tokens", 15_000);
  const users = useJson<UsersResponse>("api/users", 15_000);
  const [made, setMade] = useState<CreatedToken | undefined>(undefined);
  const [open, setOpen] = useState(false);
  const [showsEnded, setShowsEnded] = useState(false);
  if (answer.error !== undefined && answer.error.status !== 0)
    return (
      <Banner level="note" title="Only administrators see users, tokens and links.">
        {answer.error.message}
      </Banner>
    );
  const revoke = (token: ApiToken): void => {
    void attempt(
      () => send("DELETE", `api/tokens/${token.id}`),
      () => {
        toast(`${token.name} is revoked.`);
        answer.again();
      },
    );
  };
  const tokens = answer.value?.tokens.filter(({ state }) => showsEnded || state === "live");
  return (
    <>
      {answer.value?.asked === false && (
        <Banner level="note" title="Access control is off.">
          This hub listens on loopback and has no user and no token, so every account of this
          machine can change silences, events and series. Pipes, users and tokens need an
          administrator: run <code>gpulse token add NAME --scope admin</code> on the hub's machine
          and log in with the token.
        </Banner>
      )}
      <Users answer={users} />
      <section aria-label="Tokens">
        <h2 class="section">Tokens</h2>
        <div class="bar-line">
          <button
            type="button"
            class="primary"
            onClick={() => {
              setMade(undefined);
              setOpen(!open);
            }}
          >
            Create a token
          </button>
          <span class="spacer" />
          <label class="check">
            <input
              type="checkbox"
              checked={showsEnded}
              onChange={(event) => setShowsEnded(event.currentTarget.checked)}
            />
            show expired and revoked
          </label>
        </div>
        {open && (
          <section class="panel" aria-label="Create a token">
            <SchemaForm
              schema={schema}
              submit="Create"
              onCancel={() => setOpen(false)}
              onSubmit={async ({ name, scope, days }) => {
                const expiresInSeconds = typeof days === "number" ? days * DAY_SECONDS : undefined;
                try {
                  const wanted = { name, scope, expiresInSeconds };
                  setMade((await send("POST", "api/tokens", wanted)) as CreatedToken);
                  setOpen(false);
                  answer.again();
                  void loadMe();
                  return undefined;
                } catch (thrown) {
                  return thrown instanceof ApiError ? thrown.message : String(thrown);
                }
              }}
            />
          </section>
        )}
        {made !== undefined && (
          <section class="panel" role="status" aria-label="The token">
            <p>
              The token of {made.name}, of scope {made.scope}. Copy it now: it is not shown again.
            </p>
            <CopyText label="the token" text={made.token} />
          </section>
        )}
        <Table
          caption="Tokens"
          class="stacked"
          columns={columns(revoke)}
          rows={tokens}
          rowKey={({ id }) => id}
          empty={<Empty title="No tokens." />}
        />
      </section>
      <Sessions />
      <Shares ended={showsEnded} />
    </>
  );
}

const columns = (revoke: (token: ApiToken) => void): readonly TableColumn<ApiToken>[] => [
  {
    key: "name",
    label: "Name",
    by: ({ name }) => name,
    cell: ({ name }) => <strong>{name}</strong>,
  },
  { key: "scope", label: "Scope", by: ({ scope }) => scope, cell: ({ scope }) => scope },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    cell: ({ state }) => <span class="word">{state}</span>,
  },
  {
    key: "created",
    label: "Created",
    by: ({ created }) => created,
    cell: ({ created }) => formatInstant(Date.parse(created)).slice(0, 16),
  },
  {
    key: "expires",
    label: "Expires",
    by: ({ expires }) => expires ?? "9",
    cell: ({ expires }) =>
      expires === null ? "never" : formatInstant(Date.parse(expires)).slice(0, 16),
  },
  {
    key: "used",
    label: "Last used",
    by: ({ lastUsed }) => lastUsed ?? "",
    cell: ({ lastUsed }) =>
      lastUsed === null ? "never" : `${formatAge(hubTimeMs() - Date.parse(lastUsed))} ago`,
  },
  {
    key: "do",
    label: "Action",
    cell: (token) =>
      token.state === "live" ? (
        <button
          type="button"
          class="quiet"
          aria-label={`Revoke ${token.name}`}
          onClick={() => revoke(token)}
        >
          Revoke
        </button>
      ) : null,
  },
];
