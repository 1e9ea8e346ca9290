/** Jobs and pods that had the GPU in the range, and the processes on it now. */
import type { ComponentChild } from "preact";
import { formatAge } from "../../../../src/view/age.ts";
import { formatReadable } from "../../format/readable.ts";
import { useNow } from "../../query/use-fetch.ts";
import { useRange } from "../../query/use-range.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { Absent } from "../../ui/value.tsx";
import { formatInstant } from "../../view-state/range.ts";
import { type GpuJob, jobsIn, type Process, processesIn } from "./jobs.ts";

/** The range is asked as if the table were a chart this wide: a job shorter than two of its pixels may be missed. */
const AS_WIDE_AS_PX = 1_200;
const EVERY_MS = 5_000;

export function Work({ who, reported }: { who: string; reported: ReadonlySet<string> }) {
  return (
    <div class="gpu-work">
      <Jobs who={who} reported={reported.has("gpu_owner_info")} />
      <Processes
        who={who}
        reported={reported.has("gpu_process_info") || reported.has("gpu_process_memory_bytes")}
      />
    </div>
  );
}

function Jobs({ who, reported }: { who: string; reported: boolean }) {
  const { answer } = useRange([`gpu_owner_info{${who}}`], {
    widthPx: reported ? AS_WIDE_AS_PX : 0,
    leastStepMs: 10_000,
  });
  return (
    <Part
      title="Jobs and pods in this range"
      empty={reported ? undefined : "No scheduler, pod or job was seen on this GPU."}
    >
      <Table
        caption="Jobs and pods that had this GPU"
        columns={jobColumns}
        rows={jobsIn(answer?.matrices[0])}
        rowKey={({ key }) => key}
        empty={answer === undefined ? "" : "No job in this range."}
      />
    </Part>
  );
}

function Processes({ who, reported }: { who: string; reported: boolean }) {
  const query = `{__name__=~"gpu_process_info|gpu_process_memory_bytes|gpu_process_utilization_ratio",${who}}`;
  const state = useNow(query, EVERY_MS);
  return (
    <Part
      title="Processes"
      empty={reported ? undefined : "The source of this GPU names no processes."}
    >
      <Table
        caption="Processes on this GPU"
        columns={processColumns}
        rows={processesIn(state.value?.samples ?? [])}
        rowKey={({ key }) => key}
        empty={state.value === undefined ? "" : "No process uses this GPU."}
      />
    </Part>
  );
}

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

const labelled = (key: string, label: string): TableColumn<GpuJob | Process> => ({
  key,
  label,
  cell: ({ labels }) => labels[key] ?? "",
  by: ({ labels }) => labels[key],
});

const jobColumns: readonly TableColumn<GpuJob>[] = [
  labelled("workload", "Job"),
  labelled("user", "User"),
  {
    key: "pod",
    label: "Pod",
    cell: ({ labels }) =>
      [labels["namespace"], labels["pod"], labels["container"]]
        .filter((part) => part !== undefined)
        .join(" / "),
  },
  {
    key: "since",
    label: "Since",
    cell: ({ fromMs }) => formatInstant(fromMs).slice(11),
    rowTip: ({ fromMs }) => formatInstant(fromMs),
    by: ({ fromMs }) => fromMs,
  },
  {
    key: "for",
    label: "For",
    numeric: true,
    cell: ({ fromMs, toMs }) => formatAge(toMs - fromMs),
    by: ({ fromMs, toMs }) => toMs - fromMs,
  },
  { key: "running", label: "State", cell: ({ running }) => (running ? "running" : "ended") },
];

const processColumns: readonly TableColumn<Process>[] = [
  labelled("pid", "Pid"),
  labelled("process", "Process"),
  labelled("kind", "Kind"),
  {
    key: "owner",
    label: "Job or pod",
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
