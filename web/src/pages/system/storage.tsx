/** Storage: size, retention and largest metrics; the sinks and their lag; and the upload of a log. */
import type { ComponentChildren } from "preact";
import { QueryChart } from "../../chart/query-chart.tsx";
import { formatFixedPoint } from "../../format/quantity.ts";
import { formatReadable } from "../../format/readable.ts";
import { getJson } from "../../query/http.ts";
import { useFetch, useInstant, useJson } from "../../query/use-fetch.ts";
import { Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { formatInstant } from "../../view-state/range.ts";
import { ImportLog } from "./import-log.tsx";
import {
  parseSelfMetrics,
  type SelfMetricSample,
  type SinkStatus,
  sinkStatuses,
} from "./sink-status.ts";

interface Tsdb {
  readonly data: {
    readonly headStats: {
      readonly numSeries: number;
      readonly numLabelPairs: number;
      readonly minTime: number;
      readonly maxTime: number;
    };
    readonly seriesCountByMetricName: readonly CountByName[];
    readonly labelValueCountByLabelName: readonly CountByName[];
  };
}
interface CountByName {
  readonly name: string;
  readonly value: number;
}
interface Runtime {
  readonly data: {
    readonly CWD: string;
    readonly storageRetention: string;
    /** Series with a shorter retention. */
    readonly retentionRules?: readonly {
      readonly match: string;
      readonly retention: string;
      readonly rollupRetention: string;
      readonly series: number;
    }[];
    readonly startTime: string;
  };
}

export function Storage() {
  const tsdb = useJson<Tsdb>("api/v1/status/tsdb?limit=12", 15_000).value?.data;
  const runtime = useJson<Runtime>("api/v1/status/runtimeinfo").value?.data;
  const build = useJson<{ readonly data: { readonly gpulse: string } }>("api/v1/status/buildinfo")
    .value?.data;
  const own = useFetch(
    "metrics",
    async (signal) => parseSelfMetrics(String(await getJson("metrics", signal))),
    15_000,
  ).value;
  const bytes = own?.find(({ name }) => name === "gpulse_store_bytes")?.value;
  const storeCount = useInstant('count(gpulse_store_bytes{job="gpulse-hub"})').value?.samples
    .length;
  const elsewhere = runtime?.storageRetention === "";
  const head = tsdb?.headStats;
  return (
    <>
      <ImportLog />
      <section aria-label="History">
        <h2 class="section">History</h2>
        <dl class="facts">
          <Fact name="Stored in">
            {elsewhere ? "an external engine, which reports its own size" : runtime?.CWD}
          </Fact>
          {!elsewhere && (
            <>
              <Fact name="Retention">{runtime?.storageRetention}</Fact>
              {runtime?.retentionRules?.map(({ match, retention, rollupRetention, series }) => (
                <Fact key={match} name={match}>
                  {`${retention}, rollups ${rollupRetention} (${formatFixedPoint(series, 0)} series)`}
                </Fact>
              ))}
              <Fact name="On disk">
                {bytes === undefined ? undefined : formatReadable(bytes, "bytes")}
              </Fact>
              <Fact name="Series">
                {head === undefined ? undefined : formatFixedPoint(head.numSeries, 0)}
              </Fact>
              <Fact name="From">
                {head === undefined || head.minTime <= 0 ? undefined : formatInstant(head.minTime)}
              </Fact>
            </>
          )}
          <Fact name="Running since">
            {runtime === undefined ? undefined : formatInstant(Date.parse(runtime.startTime))}
          </Fact>
          <Fact name="Version">{build?.gpulse}</Fact>
        </dl>
        {storeCount === 1 && <Curves />}
      </section>
      <Sinks samples={own ?? []} />
      {tsdb !== undefined && !elsewhere && (
        <section aria-label="Cardinality">
          <h2 class="section">Highest cardinality</h2>
          <div class="two">
            <Counts
              name="Metric"
              of="Series"
              caption="Metrics by number of series"
              rows={tsdb.seriesCountByMetricName}
            />
            <Counts
              name="Label"
              of="Values"
              caption="Labels by number of values"
              rows={tsdb.labelValueCountByLabelName}
            />
          </div>
        </section>
      )}
    </>
  );
}

/** For a hub that stores its own metrics. */
function Curves() {
  return (
    <div class="chart-grid">
      <QueryChart
        title="Store on disk"
        family="memory"
        unit="bytes"
        min={0}
        legend={false}
        queries={[{ query: 'gpulse_store_bytes{job="gpulse-hub"}', label: "store" }]}
        empty="The hub has not reported its own size in this range."
      />
      <QueryChart
        title="Samples received per second"
        family="utilization"
        unit="none"
        min={0}
        legend={false}
        queries={[
          {
            query:
              'sum by (way) (rate(gpulse_received_samples_total{job="gpulse-hub",outcome="stored"}[2m])) > 0',
            label: ({ way }) => way ?? "samples",
          },
        ]}
        empty="Nothing was received in this range."
      />
    </div>
  );
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children ?? <span class="absent">n/a</span>}</dd>
  </div>
);

interface CountsProps {
  readonly caption: string;
  readonly name: string;
  readonly of: string;
  readonly rows: readonly CountByName[];
}

const Counts = ({ caption, name, of, rows }: CountsProps) => (
  <Table
    caption={caption}
    columns={[
      { key: "name", label: name, cell: (row: CountByName) => <code>{row.name}</code> },
      { key: "value", label: of, numeric: true, cell: ({ value }) => formatFixedPoint(value, 0) },
    ]}
    rows={rows}
    rowKey={(row) => row.name}
  />
);

function Sinks({ samples }: { samples: readonly SelfMetricSample[] }) {
  return (
    <section aria-label="Sinks">
      <h2 class="section">Sinks</h2>
      <Table
        caption="Where samples are sent, and how far behind"
        class="stacked"
        columns={sinkColumns}
        rows={sinkStatuses(samples)}
        rowKey={({ from, sink }) => `${from} ${sink}`}
        rowLevel={({ up, dropped }) => (up === 0 || dropped > 0 ? "warn" : undefined)}
        empty={
          <Empty title="No sink.">
            <code>--to URL</code>, or <code>remote_write</code> in a prometheus.yml, forwards
            everything.
          </Empty>
        }
      />
    </section>
  );
}

const sinkColumns: readonly TableColumn<SinkStatus>[] = [
  {
    key: "sink",
    label: "To",
    by: ({ sink }) => sink,
    cell: ({ sink, from }) => (
      <>
        <strong>{sink}</strong>
        <span class="unit"> from {from}</span>
      </>
    ),
  },
  {
    key: "up",
    label: "State",
    by: ({ up }) => (up === 0 ? "fails" : "ok"),
    cell: ({ up }) => (
      <span class={`word ${up === 0 ? "warn" : ""}`}>{up === 0 ? "fails" : "ok"}</span>
    ),
  },
  {
    key: "lag",
    label: "Lag",
    numeric: true,
    by: ({ lagSeconds }) => lagSeconds,
    cell: ({ lagSeconds }) =>
      lagSeconds === undefined ? "" : formatReadable(lagSeconds, "seconds"),
  },
  {
    key: "spool",
    label: "Queued",
    numeric: true,
    by: ({ spoolBytes }) => spoolBytes,
    cell: ({ spoolBytes }) => (spoolBytes === undefined ? "" : formatReadable(spoolBytes, "bytes")),
  },
  {
    key: "sent",
    label: "Sent",
    numeric: true,
    by: ({ sent }) => sent,
    cell: ({ sent }) => (sent === undefined ? "" : formatFixedPoint(sent, 0)),
  },
  {
    key: "lost",
    label: "Dropped",
    numeric: true,
    by: ({ dropped }) => dropped,
    cell: ({ dropped }) => formatFixedPoint(dropped, 0),
  },
];
