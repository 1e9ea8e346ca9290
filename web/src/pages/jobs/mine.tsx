/** The jobs of one user: the logged-in one, or the name entered here. */
import { useState } from "preact/hooks";
import { me } from "../../query/me.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Empty } from "../../ui/banner.tsx";
import { readStoredText, writeStoredText } from "../../view-state/preferences.ts";
import type { JobsResponse } from "./api.ts";
import { JobList } from "./list.tsx";

const STORED = "gpulse.jobs.user";

export function Mine() {
  const [entered, setEntered] = useState(readStoredText(STORED) ?? "");
  const own = me.value?.by === "user" || me.value?.by === "session" ? me.value.name : null;
  const user = entered === "" ? (own ?? "") : entered;
  return (
    <>
      <form class="bar-line" onSubmit={(event) => event.preventDefault()}>
        <label>
          User on the machines{" "}
          <input
            class="input"
            type="text"
            name="user"
            value={user}
            autocomplete="username"
            onChange={({ currentTarget }) => {
              writeStoredText(STORED, currentTarget.value.trim());
              setEntered(currentTarget.value.trim());
            }}
          />
        </label>
      </form>
      {user === "" ? (
        <Empty title="Whose jobs?">Enter the name under which your jobs run.</Empty>
      ) : (
        <JobsOf user={user} />
      )}
    </>
  );
}

function JobsOf({ user }: { user: string }) {
  const jobs = useJson<JobsResponse>(
    `api/jobs?user=${encodeURIComponent(user)}&from=30d&limit=1000`,
    10_000,
  );
  return (
    <JobList
      answer={jobs}
      caption={`Jobs of ${user}`}
      empty={`${user} had no job on a GPU in the last 30 days.`}
    />
  );
}
