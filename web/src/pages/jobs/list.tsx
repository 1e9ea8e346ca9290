/** Jobs as a table: user, resources, useful share, and the verdict. */
import { formatState } from "../../../../src/view/jobs/state.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { partlySimulated } from "../../query/known-gpus.ts";
import type { FetchState } from "../../query/use-fetch.ts";
import { Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { Absent, Bar } from "../../ui/value.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant } from "../../view-state/range.ts";
import type { JobsResponse, JobSummary } from "./api.ts";
import { formatEnergy, formatGpuTime, formatKey, stateLevel, usefulShare } from "./words.ts";

export function JobList({
  answer,
  caption,
  empty,
}: {
  answer: FetchState<JobsResponse>;
  caption: string;
  empty: string;
}) {
  const { value, error } = answer;
  if (value === undefined)
    return error === undefined || error.status === 0 ? (
      <p class="waiting">Reading the ledger…</p>
    ) : (
      <Empty title={error.status === 404 ? "This hub keeps no job ledger." : error.message}>
        <code>--jobs-retention</code> turns it on.
      </Empty>
    );
  return (
    <>
      <Table
        caption={caption}
        class="stacked jobs"
        columns={columns}
        rows={value.jobs}
        rowKey={({ id }) => id}
        rowLevel={({ state }) => stateLevel(state)}
        empty={<Empty title={empty}>A job appears when its processes use a GPU.</Empty>}
      />
      {value.total > value.jobs.length && (
        <p class="unit">
          {value.jobs.length} of {value.total} jobs; <code>gpulse jobs list</code> prints all.
        </p>
      )}
    </>
  );
}

const columns: readonly TableColumn<JobSummary>[] = [
  {
    key: "name",
    label: "Job",
    by: ({ name }) => name,
    cell: (job) => (
      <>
        <a href={hrefOf("jobs", { id: job.id })}>{job.name}</a>{" "}
        <span class="unit">{formatKey(job)}</span>
        {job.simulated && partlySimulated.value && <SimulatedMark />}
      </>
    ),
    rowTip: ({ key }) => key,
  },
  { key: "user", label: "User", by: ({ user }) => user, cell: ({ user }) => user ?? "–" },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    cell: (job) => <span class="word">{formatState(job, hubTimeMs())}</span>,
  },
  {
    key: "start",
    label: "Started",
    by: ({ startMs }) => startMs,
    numeric: true,
    cell: ({ startMs }) => formatInstant(startMs),
  },
  {
    key: "gpus",
    label: "GPUs",
    by: ({ gpus }) => gpus,
    numeric: true,
    cell: ({ gpus }) => gpus,
    rowTip: ({ hosts }) => (hosts.length === 0 ? undefined : hosts.slice(0, 8).join(", ")),
  },
  {
    key: "time",
    label: "GPU time",
    by: ({ gpuSeconds }) => gpuSeconds,
    numeric: true,
    cell: ({ gpuSeconds }) => formatGpuTime(gpuSeconds),
    tip: "Every GPU that the job held counts fully.",
  },
  {
    key: "useful",
    label: "Useful",
    by: usefulShare,
    numeric: true,
    family: "utilization",
    tip: "Share of the GPU time with activity above 5 %.",
    cell: (job) => <UsefulShare job={job} />,
  },
  {
    key: "energy",
    label: "Energy",
    by: ({ joules }) => joules,
    numeric: true,
    cell: ({ joules }) => formatEnergy(joules),
  },
  {
    key: "verdict",
    label: "Verdict",
    by: ({ verdict }) => verdict,
    cell: ({ verdict }) => verdict,
  },
];

export function UsefulShare({ job }: { job: Parameters<typeof usefulShare>[0] }) {
  const share = usefulShare(job);
  if (share === undefined) return <Absent reason="unsupported" />;
  return (
    <span class="share">
      <span>
        {(100 * share).toFixed(0)} <span class="unit">%</span>
      </span>
      <Bar ratio={share} level={share < 0.3 ? "warn" : undefined} />
    </span>
  );
}

export const SimulatedMark = () => (
  <>
    {" "}
    <span class="word">simulated</span>
  </>
);
