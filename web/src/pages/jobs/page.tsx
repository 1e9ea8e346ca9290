/** Jobs: running, ended, the user's own, the accounting of the GPUs, and one job in full. */
import { useJson } from "../../query/use-fetch.ts";
import { Banner } from "../../ui/banner.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Param, oneOf, optional } from "../../view-state/param.ts";
import type { JobsResponse } from "./api.ts";
import { Books } from "./books.tsx";
import { JobDetails } from "./job.tsx";
import { JobList } from "./list.tsx";
import { Mine } from "./mine.tsx";
import "./jobs.css";

const tabs = ["running", "ended", "mine", "books"] as const;
const tab = new Param("tab", oneOf(tabs), "push");
const jobId = new Param("id", optional, "push");
const EVERY_MS = 10_000;

export function Page() {
  const id = jobId.value;
  return id === undefined ? <Jobs /> : <JobDetails key={id} id={id} />;
}

function Jobs() {
  const running = useJson<JobsResponse>("api/jobs?state=running&limit=1000", EVERY_MS);
  const chosen = tab.value;
  return (
    <>
      <Tabs
        page="jobs"
        label="Parts of jobs"
        chosen={chosen}
        tabs={[
          { name: "running", label: "Running", count: running.value?.total },
          { name: "ended", label: "Ended" },
          { name: "mine", label: "Mine" },
          { name: "books", label: "Books" },
        ]}
      />
      {(running.value?.problems ?? []).map((problem) => (
        <Banner key={problem} level="warn" title="A scheduler's data is not complete.">
          {problem}
        </Banner>
      ))}
      {chosen === "running" && (
        <JobList answer={running} caption="Running jobs" empty="No job uses a GPU." />
      )}
      {chosen === "ended" && <Ended />}
      {chosen === "mine" && <Mine />}
      {chosen === "books" && <Books />}
    </>
  );
}

function Ended() {
  const ended = useJson<JobsResponse>("api/jobs?state=ended&limit=1000", 3 * EVERY_MS);
  return (
    <JobList answer={ended} caption="Ended jobs" empty="No job ended in the last seven days." />
  );
}
