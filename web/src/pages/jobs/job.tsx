/** One job: the verdict, its facts, activity of its GPUs, their charts over the job's time, and each GPU's share. */
import { useMemo } from "preact/hooks";
import { costText, massText } from "../../../../src/view/jobs/price.ts";
import { formatState } from "../../../../src/view/jobs/state.ts";
import { useTitle } from "../../app/title.ts";
import { QueryChart } from "../../chart/query-chart.tsx";
import { QueryTimeline } from "../../chart/query-timeline.tsx";
import { hubTimeMs } from "../../live/feed.ts";
import { partlySimulated } from "../../query/known-gpus.ts";
import type { Labels } from "../../query/columns.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Empty } from "../../ui/banner.tsx";
import { Explain } from "../../ui/explain.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant, type TimeWindow } from "../../view-state/range.ts";
import type { JobResponse, JobStretch } from "./api.ts";
import { SimulatedMark, UsefulShare } from "./list.tsx";
import { formatEnergy, formatGpuTime } from "./words.ts";

/** Charts of more GPUs are unreadable; the table lists all. */
const MOST_GPUS = 64;

export function JobDetails({ id }: { id: string }) {
  const path = `api/jobs/${encodeURIComponent(id)}`;
  const { value, error } = useJson<JobResponse>(path, 10_000);
  useTitle(value === undefined ? undefined : `Job ${value.summary.name}`);
  const back = <a href={hrefOf("jobs")}>All jobs</a>;
  if (value === undefined)
    return error === undefined || error.status === 0 ? (
      <p class="waiting">Reading the ledger…</p>
    ) : (
      <Empty title={error.message}>{back}</Empty>
    );
  const { summary, job } = value;
  return (
    <article class="job">
      <p class="back">{back}</p>
      <h2 class="title">
        {summary.name} <span class="unit">{summary.key}</span>
        {summary.simulated && partlySimulated.value && <SimulatedMark />}
      </h2>
      <p class="verdict">{summary.verdict}</p>
      <Explain kind="job" id={summary.id} />
      <Facts {...value} />
      <p>
        <a href={`${path}/report`} download={`job-${summary.name}.html`}>
          Report as HTML
        </a>{" "}
        · <a href={`${path}/text`}>as text</a>
      </p>
      {job.stretches.length > 0 && <Charts {...value} />}
      <h2 class="section">GPUs</h2>
      <Table
        caption="What the job did on each GPU"
        class="stacked jobs"
        columns={stretchColumns}
        rows={job.stretches}
        rowKey={({ host, uuid }) => `${host} ${uuid}`}
        empty={<Empty title="No agent reported the GPUs of this job." />}
      />
    </article>
  );
}

function Facts({ summary, job, cost, currency, co2Grams }: JobResponse) {
  const { scheduler } = job;
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ["State", formatState(summary, hubTimeMs())],
    ["User", summary.user],
    ["Account", summary.account],
    ["Controller", summary.controller],
    ["Partition", summary.partition],
    [
      "Array task",
      scheduler?.arrayJobId && `${scheduler.arrayJobId}_${scheduler.arrayTaskId ?? ""}`,
    ],
    ["Started", formatInstant(summary.startMs)],
    ["Ended", summary.endMs === undefined ? undefined : formatInstant(summary.endMs)],
    ["GPUs", summary.gpus],
    ["Requested GPUs", summary.requestedGpus],
    ["GPU time", formatGpuTime(summary.gpuSeconds)],
    ["Held idle", formatGpuTime(summary.heldIdleSeconds)],
    [
      "No reading of activity",
      summary.unknownSeconds > 0 ? formatGpuTime(summary.unknownSeconds) : undefined,
    ],
    ["Energy", formatEnergy(summary.joules)],
    [
      "Estimated share",
      summary.assumedJoules > 0
        ? `${formatEnergy(summary.assumedJoules)}, divided equally`
        : undefined,
    ],
    ["Cost", cost === undefined ? undefined : costText(cost, currency)],
    ["CO₂", co2Grams === undefined ? undefined : massText(co2Grams)],
    ["Requeued before", scheduler?.restartCount === 0 ? undefined : scheduler?.restartCount],
    ["Reason", scheduler?.stateReason],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === undefined || value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function Charts({ summary, job }: JobResponse) {
  const { startMs, seenMs, endMs = seenMs } = summary;
  const window = useMemo(
    (): TimeWindow => ({ fromMs: startMs, toMs: Math.max(endMs, startMs + 10_000) }),
    [startMs, endMs],
  );
  const gpus = job.stretches.slice(0, MOST_GPUS);
  const isOneHost = new Set(gpus.map(({ host }) => host)).size === 1;
  const who = matchersOf(gpus);
  const most = (selector: string): string => `(max_over_time(${selector}[$step]) or ${selector})`;
  const chart = {
    queries: [],
    window,
    colourBy: "gpu",
    events: concerns(gpus),
    changesOf: { kind: "job", id: summary.id },
    drag: "mark",
  } as const;
  return (
    <>
      <div class="chart-grid timelines">
        <QueryTimeline
          title="GPU activity"
          family="utilization"
          window={window}
          query={`max by (host,gpu,uuid) (${most(`gpu_utilization_ratio{${who}}`)}) >= bool 0.05`}
          row={(labels) => ({
            label: isOneHost ? `#${labels["gpu"] ?? ""}` : nameOf(labels),
            tip: `${nameOf(labels)}: utilisation of 5 % or more`,
            say: () => "working",
          })}
          empty="No samples of these GPUs in this time."
        />
      </div>
      <div class="chart-grid">
        <QueryChart
          {...chart}
          title="Utilisation"
          family="utilization"
          unit="ratio"
          queries={[{ query: `gpu_utilization_ratio{${who}}`, label: nameOf }]}
        />
        <QueryChart
          {...chart}
          title="Memory used"
          family="memory"
          unit="bytes"
          queries={[{ query: `gpu_memory_used_bytes{${who}}`, label: nameOf }]}
        />
        <QueryChart
          {...chart}
          title="Power"
          family="power"
          unit="watts"
          queries={[{ query: `gpu_power_watts{${who}}`, label: nameOf }]}
        />
      </div>
      {job.stretches.length > MOST_GPUS && (
        <p class="unit">
          The first {MOST_GPUS} of {job.stretches.length} GPUs are drawn.
        </p>
      )}
    </>
  );
}

const nameOf = ({ host = "", gpu = "" }: Labels): string => `${host} #${gpu}`;

const concerns = (gpus: readonly JobStretch[]) => {
  const own = new Set(gpus.map(({ host, uuid }) => `${host} ${uuid}`));
  return ({ host, uuid }: Labels): boolean => own.has(`${host ?? ""} ${uuid ?? ""}`);
};

/** Matchers of the GPUs' series; values are escaped for a regular expression inside a PromQL string. */
function matchersOf(gpus: readonly JobStretch[]): string {
  const any = (values: readonly string[]): string =>
    JSON.stringify(
      [...new Set(values)].map((value) => value.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"),
    );
  const hosts = any(gpus.map(({ host }) => host));
  return `host=~${hosts},uuid=~${any(gpus.map(({ uuid }) => uuid))}`;
}

const percent = (ratio: number | undefined): string =>
  ratio === undefined ? "n/a" : `${(100 * ratio).toFixed(0)} %`;

const stretchColumns: readonly TableColumn<JobStretch>[] = [
  {
    key: "gpu",
    label: "GPU",
    by: ({ host, gpu }) => `${host} ${String(gpu).padStart(3, "0")}`,
    cell: ({ host, gpu, model, uuid, fromMs, toMs }) => (
      <>
        <a href={hrefOf("gpu", gpuParams(uuid, fromMs, toMs))}>GPU {gpu}</a>{" "}
        <a href={hrefOf("host", { host, ...timeParams(fromMs, toMs) })}>{host}</a>{" "}
        <span class="unit">{model}</span>
      </>
    ),
  },
  {
    key: "held",
    label: "Held",
    by: ({ gpuSeconds }) => gpuSeconds,
    numeric: true,
    cell: ({ gpuSeconds }) => formatGpuTime(gpuSeconds),
  },
  {
    key: "useful",
    label: "Useful",
    by: ({ usefulSeconds }) => usefulSeconds,
    numeric: true,
    family: "utilization",
    cell: (stretch) => <UsefulShare job={stretch} />,
  },
  {
    key: "idle",
    label: "Held idle",
    by: ({ heldIdleSeconds }) => heldIdleSeconds,
    numeric: true,
    cell: ({ heldIdleSeconds }) => formatGpuTime(heldIdleSeconds),
  },
  {
    key: "energy",
    label: "Energy",
    by: ({ joules }) => joules,
    numeric: true,
    cell: ({ joules }) => formatEnergy(joules),
  },
  {
    key: "tensor",
    label: "Tensor",
    numeric: true,
    by: ({ meanTensorRatio }) => meanTensorRatio,
    cell: ({ meanTensorRatio }) => percent(meanTensorRatio),
  },
  {
    key: "memory",
    label: "Peak memory",
    numeric: true,
    by: ({ peakMemoryBytes }) => peakMemoryBytes,
    cell: ({ peakMemoryBytes }) =>
      peakMemoryBytes === undefined ? "n/a" : `${(peakMemoryBytes / 2 ** 30).toFixed(1)} GiB`,
  },
  {
    key: "notes",
    label: "Notes",
    by: (stretch) => notesOf(stretch).join("; ") || undefined,
    cell: (stretch) => notesOf(stretch).join("; ") || "–",
  },
];

const gpuParams = (uuid: string, fromMs: number, toMs: number) => ({
  uuid,
  ...timeParams(fromMs, toMs),
});

const timeParams = (fromMs: number, toMs: number) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(Math.max(toMs, fromMs + 10_000)).toISOString(),
});

function notesOf({ throttledSeconds, xids, anomalies, neighbours, unobservedSeconds }: JobStretch) {
  return [
    ...Object.entries(throttledSeconds).map(
      ([reason, seconds]) => `${reason.replaceAll("_", " ")} ${formatGpuTime(seconds)}`,
    ),
    ...Object.entries(xids).map(([xid, count]) => `Xid ${xid} ×${count}`),
    ...anomalies.map((kind) => kind.replaceAll("_", " ")),
    ...(neighbours.length === 0 ? [] : [`shared with ${neighbours.length} other`]),
    ...(unobservedSeconds > 0 ? [`no readings for ${formatGpuTime(unobservedSeconds)}`] : []),
  ];
}
