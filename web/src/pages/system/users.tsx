/** Users with a password: role and creation date; added, changed and blocked here by an administrator. */
import { useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { send } from "../../query/http.ts";
import { loadMe } from "../../query/me.ts";
import type { FetchState } from "../../query/use-fetch.ts";
import { attempt } from "../../ui/attempt.ts";
import { Empty } from "../../ui/banner.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SchemaForm } from "../../ui/form.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.ts";
import type { ApiUser, UsersResponse } from "./api.ts";

const newPassword = {
  type: "string",
  description: "At least 10 characters. Tell them in person; they can change it.",
  minLength: 10,
} as const;

/** The first user has to be an administrator, because no other can add users. */
const userSchema = (first: boolean) =>
  ({
    type: "object",
    required: ["name", "role", "password"],
    properties: {
      name: {
        type: "string",
        description: "Letters, digits and . _ @ -",
        pattern: "^[\\w.@-]{1,100}$",
      },
      role: {
        enum: first ? ["admin"] : ["viewer", "admin"],
        description: "viewer: sees everything, changes nothing. admin: everything.",
      },
      password: newPassword,
    },
  }) as const;

const passwordSchema = {
  type: "object",
  required: ["password"],
  properties: { password: newPassword },
} as const;

interface UserDialog {
  readonly user: ApiUser;
  readonly about: "password" | "remove";
}

export function Users({ answer }: { answer: FetchState<UsersResponse> }) {
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState<UserDialog | undefined>(undefined);
  const close = (): void => setAsked(undefined);
  const done = (message: string): void => {
    toast(message);
    setOpen(false);
    close();
    answer.again();
    void loadMe();
  };
  const change = ({ name }: ApiUser, wanted: object, message: string): void =>
    void attempt(
      () => send("PUT", `api/users/${encodeURIComponent(name)}`, wanted),
      () => done(message),
    );
  return (
    <section aria-label="Users">
      <h2 class="section">Users</h2>
      <div class="bar-line">
        <button type="button" class="primary" aria-expanded={open} onClick={() => setOpen(!open)}>
          Add a user
        </button>
      </div>
      {open && (
        <section class="panel" aria-label="Add a user">
          <SchemaForm
            schema={userSchema(answer.value?.asked === false)}
            submit="Add the user"
            onCancel={() => setOpen(false)}
            onSubmit={async (wanted) => {
              await send("POST", "api/users", wanted);
              done(`${String(wanted["name"])} can log in now.`);
              return undefined;
            }}
          />
        </section>
      )}
      <Table
        caption="Users"
        class="stacked"
        columns={columns(change, setAsked)}
        rows={answer.value?.users}
        rowKey={({ name }) => name}
        empty={
          <Empty title="No users.">
            People can log in with a token as well; a user has a name and a password of their own.
          </Empty>
        }
      />
      <FileUsers names={answer.value?.fileUsers ?? []} />
      <Dialog label="Another password" open={asked?.about === "password"} onClose={close}>
        <h2>Another password for {asked?.user.name}</h2>
        <p>All sessions of this user are logged out.</p>
        <SchemaForm
          schema={passwordSchema}
          submit="Set it"
          onCancel={close}
          onSubmit={async (wanted) => {
            if (asked === undefined) return undefined;
            await send("PUT", `api/users/${encodeURIComponent(asked.user.name)}`, wanted);
            done(`${asked.user.name} has a new password.`);
            return undefined;
          }}
        />
      </Dialog>
      <Dialog label="Remove a user" open={asked?.about === "remove"} onClose={close}>
        <h2>Remove {asked?.user.name}?</h2>
        <p>The user is logged out at once. What they created is kept.</p>
        <div class="bar-line">
          <button
            type="button"
            class="primary"
            onClick={() => {
              if (asked === undefined) return;
              const { name } = asked.user;
              void attempt(
                () => send("DELETE", `api/users/${encodeURIComponent(name)}`),
                () => done(`${name} is removed.`),
              );
            }}
          >
            Remove user
          </button>
          <button type="button" class="quiet" onClick={close}>
            Cancel
          </button>
        </div>
      </Dialog>
    </section>
  );
}

/** Users of the administrator's configuration file, which can only be changed there. */
function FileUsers({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p class="unit">
      Also <strong>{names.join(", ")}</strong>, from the web configuration file (
      <code>--web-config-file</code>): they may do everything.
    </p>
  );
}

const columns = (
  change: (user: ApiUser, wanted: object, message: string) => void,
  ask: (question: UserDialog) => void,
): readonly TableColumn<ApiUser>[] => [
  {
    key: "name",
    label: "Name",
    by: ({ name }) => name,
    cell: ({ name }) => <strong>{name}</strong>,
  },
  { key: "role", label: "Role", by: ({ role }) => role, cell: ({ role }) => role },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    cell: ({ state }) => <span class={`word ${state === "disabled" ? "warn" : ""}`}>{state}</span>,
  },
  {
    key: "login",
    label: "Last login",
    by: ({ lastLogin }) => lastLogin ?? "",
    cell: ({ lastLogin }) =>
      lastLogin === null ? "never" : `${formatAge(hubTimeMs() - Date.parse(lastLogin))} ago`,
  },
  {
    key: "sessions",
    label: "Logged in",
    numeric: true,
    tip: "Browsers in which they are logged in now.",
    by: ({ sessions }) => sessions,
    cell: ({ sessions }) => sessions,
  },
  {
    key: "do",
    label: "Action",
    cell: (user) => (
      <span class="acts">
        <Act says="Password" of={user} run={() => ask({ user, about: "password" })} />
        {user.role === "viewer" ? (
          <Act
            says="Make admin"
            of={user}
            run={() => change(user, { role: "admin" }, `${user.name} is an administrator now.`)}
          />
        ) : (
          <Act
            says="Make viewer"
            of={user}
            run={() => change(user, { role: "viewer" }, `${user.name} is a viewer now.`)}
          />
        )}
        {user.state === "live" ? (
          <Act
            says="Disable"
            of={user}
            run={() => change(user, { disabled: true }, `${user.name} is disabled.`)}
          />
        ) : (
          <Act
            says="Enable"
            of={user}
            run={() => change(user, { disabled: false }, `${user.name} may log in again.`)}
          />
        )}
        <Act says="Remove" of={user} run={() => ask({ user, about: "remove" })} />
      </span>
    ),
  },
];

const Act = ({ says, of: user, run }: { says: string; of: ApiUser; run: () => void }) => (
  <button type="button" class="quiet" aria-label={`${says}: ${user.name}`} onClick={run}>
    {says}
  </button>
);
