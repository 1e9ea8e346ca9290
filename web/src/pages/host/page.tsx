/** One machine: facts, GPUs, charts beside kernel lines and events, jobs, and topology. */
import { useTitle } from "../../app/title.ts";
import { QueryChart } from "../../chart/query-chart.tsx";
import { liveness } from "../../live/feed.ts";
import type { Labels } from "../../query/columns.ts";
import { knownGpus, storeAsked, useKnownGpus } from "../../query/known-gpus.ts";
import { useJson } from "../../query/use-fetch.ts";
import { useReportedMetrics } from "../../query/use-reported-metrics.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { useAfterPaint } from "../../ui/use-after-paint.ts";
import { hrefOf } from "../../view-state/address.ts";
import { optional, Param } from "../../view-state/param.ts";
import { timeWindow } from "../../view-state/time.ts";
import type { JobsResponse } from "../jobs/api.ts";
import { JobList } from "../jobs/list.tsx";
import {
  gpuCharts,
  type HostChart,
  isHostChartReported,
  machineCharts,
  reportsMachine,
} from "./charts.ts";
import { HostEvents } from "./events.tsx";
import { GpuTable } from "./gpu-table.tsx";
import { Head, useHosts } from "./head.tsx";
import { MachineFacts } from "./machine.tsx";
import { TopologySection } from "./topology.tsx";
import "../gpu/gpu.css";
import "./host.css";

const hostParam = new Param("host", optional, "push");

export function Page() {
  useKnownGpus();
  const hosts = useHosts();
  const host = hostParam.value ?? hosts[0];
  useTitle(host === undefined ? undefined : `Host ${host}`);
  if (host === undefined) return <Nobody />;
  return <HostDetails key={host} host={host} hosts={hosts} />;
}

function Nobody() {
  if (liveness.value === "connecting" || !storeAsked.value)
    return <p class="waiting">Waiting for the first reading…</p>;
  return (
    <Empty title="No machine has reported yet.">
      <a href={hrefOf("fleet")}>Open the fleet</a>
    </Empty>
  );
}

function HostDetails({ host, hosts }: { host: string; hosts: readonly string[] }) {
  const who = `host=${JSON.stringify(host)}`;
  const { value: reported, error } = useReportedMetrics(who);
  const gpus = knownGpus.value.filter(({ device }) => device.host === host);
  const isPainted = useAfterPaint();
  const isKnown = gpus.length > 0 || (reported?.size ?? 0) > 0;
  return (
    <>
      <Head {...{ host, hosts, gpus }} />
      {error !== undefined && error.status !== 0 && (
        <Banner level="bad" title="The store cannot be read.">
          {error.message}
        </Banner>
      )}
      {reported !== undefined && !isKnown ? (
        <Empty title={`No samples of ${host} in this range.`}>
          <a href={hrefOf("fleet")}>Open the fleet</a>
        </Empty>
      ) : (
        <>
          <MachineFacts {...{ who, gpus, reported }} />
          {gpus.length > 0 && <GpuTable host={host} gpus={gpus} />}
          <div class="host-body">
            <HostEvents host={host} />
            <div class="host-charts">
              {reported !== undefined && <Charts {...{ host, who, reported }} />}
            </div>
          </div>
          {isPainted && reported !== undefined && (
            <>
              <TopologySection host={host} who={who} />
              <Jobs host={host} />
            </>
          )}
        </>
      )}
    </>
  );
}

function Charts({
  host,
  who,
  reported,
}: {
  host: string;
  who: string;
  reported: ReadonlySet<string>;
}) {
  const concerns = (labels: Labels): boolean => (labels["host"] ?? host) === host;
  const draw = (list: readonly HostChart[]) =>
    list
      .filter((chart) => isHostChartReported(chart, reported))
      .map(({ key, metrics: _, queries, ...look }) => (
        <QueryChart key={`${host} ${key}`} {...look} queries={queries(who)} events={concerns} />
      ));
  const absent = machineCharts.filter((chart) => !isHostChartReported(chart, reported));
  return (
    <>
      <h3>Machine</h3>
      {reportsMachine(reported) ? (
        <>
          <div class="chart-grid">{draw(machineCharts)}</div>
          {absent.length > 0 && (
            <p class="unit">
              Not reported by this machine:{" "}
              {absent.map(({ title }) => title.split(",")[0]).join(", ")}.
            </p>
          )}
        </>
      ) : (
        <p class="unit no-machine">
          No source reports the CPU, memory, disks and network of this machine. Run{" "}
          <code>gpulse agent --source auto --source host:</code> on it; GPU exporters have no such
          metrics.
        </p>
      )}
      {gpuCharts.some((chart) => isHostChartReported(chart, reported)) && (
        <>
          <h3>GPUs over time</h3>
          <div class="chart-grid">{draw(gpuCharts)}</div>
        </>
      )}
    </>
  );
}

const JOBS_EVERY_MS = 15_000;

function Jobs({ host }: { host: string }) {
  const at = (ms: number): string =>
    new Date(Math.floor(ms / JOBS_EVERY_MS) * JOBS_EVERY_MS).toISOString();
  const { fromMs, toMs } = timeWindow.value;
  const query = new URLSearchParams({ host, from: at(fromMs), to: at(toMs + JOBS_EVERY_MS) });
  const answer = useJson<JobsResponse>(`api/jobs?${query.toString()}`);
  return (
    <section class="part">
      <h3>Jobs in this range</h3>
      {answer.error?.status === 404 ? (
        <p class="unit">This hub keeps no job ledger.</p>
      ) : (
        <JobList answer={answer} caption={`Jobs on ${host}`} empty="No job ran here." />
      )}
    </section>
  );
}
