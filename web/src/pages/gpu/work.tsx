/** The jobs on the GPU in the range, and its current processes. */
import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatState } from "../../../../src/view/jobs/state.ts";
import type { WireDevice } from "../../../../src/view/live/protocol.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { formatReadable } from "../../format/readable.ts";
import type { ApiError } from "../../query/http.ts";
import { useJson, useNow } from "../../query/use-fetch.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { Absent } from "../../ui/value.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant } from "../../view-state/range.ts";
import { timeWindow } from "../../view-state/time.ts";
import type { JobsResponse, JobSummary } from "../jobs/api.ts";
import { UsefulShare } from "../jobs/list.tsx";
import { formatGpuTime, formatKey, usefulShare } from "../jobs/words.ts";
import { type Process, processesIn } from "./processes.ts";

const EVERY_MS = 5_000;
const JOBS_EVERY_MS = 15_000;

export interface WorkProps {
  readonly device: Pick<WireDevice, "host" | "uuid">;
  readonly who: string;
  readonly reported: ReadonlySet<string>;
}

export function Work({ device, who, reported }: WorkProps) {
  return (
    <div class="gpu-work">
      <Jobs device={device} />
      <Processes
        who={who}
        reported={reported.has("gpu_process_info") || reported.has("gpu_process_memory_bytes")}
      />
    </div>
  );
}

/** From the hub's job ledger, which processes every reading, so that the end of a job is known however long the range is. */
function Jobs({ device: { uuid, host } }: Pick<WorkProps, "device">) {
  const { fromMs, toMs } = timeWindow.value;
  const at = (ms: number): string =>
    new Date(Math.floor(ms / JOBS_EVERY_MS) * JOBS_EVERY_MS).toISOString();
  const query = new URLSearchParams({ uuid, host, from: at(fromMs), to: at(toMs + JOBS_EVERY_MS) });
  const { value, error } = useJson<JobsResponse>(`api/jobs?${query.toString()}`);
  const [last, setLast] = useState<JobsResponse | undefined>(undefined);
  useEffect(() => {
    if (value !== undefined) setLast(value);
  }, [value]);
  const shown = value ?? last;
  return (
    <Part
      title="Jobs in this range"
      empty={error?.status === 404 ? "This hub keeps no job ledger." : refusalOf(error, shown)}
    >
      <Table
        caption="Jobs that held this GPU"
        class="stacked"
        columns={jobColumns}
        rows={shown?.jobs}
        rowKey={({ id }) => id}
        empty="No job held this GPU in this range."
      />
      {shown !== undefined && shown.total > shown.jobs.length && (
        <p class="unit">
          {shown.jobs.length} of {shown.total} jobs
        </p>
      )}
    </Part>
  );
}

function Processes({ who, reported }: { who: string; reported: boolean }) {
  const query = `{__name__=~"gpu_process_info|gpu_process_memory_bytes|gpu_process_utilization_ratio",${who}}`;
  const state = useNow(query, EVERY_MS);
  return (
    <Part
      title="Processes"
      empty={
        reported
          ? refusalOf(state.error, state.value)
          : "The source of this GPU does not report processes."
      }
    >
      <Table
        caption="Processes on this GPU"
        columns={processColumns}
        rows={state.value && processesIn(state.value.samples)}
        rowKey={({ key }) => key}
        empty="No process uses this GPU."
      />
    </Part>
  );
}

/** Undefined while the hub is only out of reach: the page says so, and asks again. */
const refusalOf = (error: ApiError | undefined, value: unknown): string | undefined =>
  value !== undefined || error === undefined || error.status === 0 ? undefined : error.message;

function Part({
  title,
  empty,
  children,
}: {
  title: string;
  empty: string | undefined;
  children: ComponentChild;
}) {
  return (
    <section class="part">
      <h3>{title}</h3>
      {empty === undefined ? children : <p class="unit">{empty}</p>}
    </section>
  );
}

const labelled = (key: string, label: string): TableColumn<Process> => ({
  key,
  label,
  cell: ({ labels }) => labels[key] ?? "",
  by: ({ labels }) => labels[key],
});

/** Time on this GPU; the job itself may be longer. */
const heldMs = ({ held, startMs, endMs, seenMs }: JobSummary): number =>
  held === undefined ? (endMs ?? seenMs) - startMs : held.toMs - held.fromMs;
const sinceMs = ({ held, startMs }: JobSummary): number => held?.fromMs ?? startMs;
const isRunning = ({ endMs }: JobSummary): boolean => endMs === undefined;

const jobColumns: readonly TableColumn<JobSummary>[] = [
  {
    key: "name",
    label: "Job",
    by: ({ name }) => name,
    cell: (job) => (
      <>
        <a href={hrefOf("jobs", { id: job.id })}>{job.name}</a>{" "}
        <span class="unit">{formatKey(job)}</span>
      </>
    ),
    rowTip: ({ key }) => key,
  },
  { key: "user", label: "User", by: ({ user }) => user, cell: ({ user }) => user ?? "–" },
  {
    key: "since",
    label: "Since",
    numeric: true,
    cell: (job) => formatInstant(sinceMs(job)),
    by: sinceMs,
  },
  {
    key: "until",
    label: "Until",
    numeric: true,
    cell: (job) =>
      isRunning(job) && formatState(job, hubTimeMs()) === "running"
        ? "running"
        : formatInstant(job.held?.toMs ?? job.endMs ?? job.seenMs),
    by: ({ endMs }) => endMs ?? Number.POSITIVE_INFINITY,
  },
  {
    key: "for",
    label: "For",
    numeric: true,
    cell: (job) => formatGpuTime(heldMs(job) / 1_000),
    by: heldMs,
  },
  {
    key: "useful",
    label: "Useful",
    numeric: true,
    family: "utilization",
    tip: "Share of its time on this GPU with activity above 5 %.",
    by: ({ held }) => held && usefulShare({ ...held, gpuSeconds: held.seconds }),
    cell: ({ held }) =>
      held === undefined ? null : <UsefulShare job={{ ...held, gpuSeconds: held.seconds }} />,
  },
  {
    key: "shared",
    label: "Shared with",
    tip: "Jobs that held this GPU at the same time.",
    by: ({ held }) => held?.neighbours.length,
    cell: ({ held }) => formatNeighbours(held?.neighbours ?? []),
    rowTip: ({ held }) => held?.neighbours.join("\n"),
  },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    cell: (job) => <span class="word">{formatState(job, hubTimeMs())}</span>,
  },
];

const formatNeighbours = (ids: readonly string[]): string =>
  ids.length === 0 ? "" : ids.length === 1 ? "1 job" : `${ids.length} jobs`;

const processColumns: readonly TableColumn<Process>[] = [
  labelled("pid", "Pid"),
  labelled("process", "Process"),
  labelled("kind", "Kind"),
  {
    key: "owner",
    label: "Job or pod",
    by: ({ labels }) => labels["workload"] ?? labels["pod"] ?? labels["container"],
    cell: ({ labels }) => labels["workload"] ?? labels["pod"] ?? labels["container"] ?? "",
  },
  {
    key: "memory",
    label: "Memory",
    numeric: true,
    cell: ({ memoryBytes }) =>
      memoryBytes === undefined ? (
        <Absent reason="unsupported" />
      ) : (
        formatReadable(memoryBytes, "bytes")
      ),
    by: ({ memoryBytes }) => memoryBytes,
  },
  {
    key: "utilization",
    label: "Utilisation",
    numeric: true,
    cell: ({ utilizationRatio }) =>
      utilizationRatio === undefined ? (
        <Absent reason="unsupported" />
      ) : (
        formatReadable(utilizationRatio, "ratio")
      ),
    by: ({ utilizationRatio }) => utilizationRatio,
  },
];
