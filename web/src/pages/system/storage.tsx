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
  const tsdbAnswer = useJson<Tsdb>("api/v1/status/tsdb?limit=12", 15_000);
  const runtimeAnswer = useJson<Runtime>("api/v1/status/runtimeinfo");
  const buildAnswer = useJson<{ readonly data: { readonly gpulse: string } }>(
    "api/v1/status/buildinfo",
  );
  const ownAnswer = useFetch(
    "metrics",
    async (signal) => parseSelfMetrics(String(await getJson("metrics", signal))),
    15_000,
  );
  const tsdb = tsdbAnswer.value?.data;
  const runtime = runtimeAnswer.value?.data;
  const build = buildAnswer.value?.data;
  const own = ownAnswer.value;
  const answers = [tsdbAnswer, runtimeAnswer, buildAnswer, ownAnswer];
  const waiting = answers.some(({ loading }) => loading);
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
          <Fact name="Stored in" waiting={waiting}>
            {elsewhere ? "an external engine, which reports its own size" : runtime?.CWD}
          </Fact>
          {!elsewhere && (
            <>
              <Fact name="Retention" waiting={waiting}>
                {runtime?.storageRetention}
              </Fact>
              {runtime?.retentionRules?.map(({ match, retention, rollupRetention, series }) => (
                <Fact key={match} name={match}>
                  {`${retention}, rollups ${rollupRetention} (${formatFixedPoint(series, 0)} series)`}
                </Fact>
              ))}
              <Fact name="On disk" waiting={waiting}>
                {bytes === undefined ? undefined : formatReadable(bytes, "bytes")}
              </Fact>
              <Fact name="Series" waiting={waiting}>
                {head === undefined ? undefined : formatFixedPoint(head.numSeries, 0)}
              </Fact>
              <Fact name="From" waiting={waiting}>
                {head === undefined || head.minTime <= 0 ? undefined : formatInstant(head.minTime)}
              </Fact>
            </>
          )}
          <Fact name="Running since" waiting={waiting}>
            {runtime === undefined ? undefined : formatInstant(Date.parse(runtime.startTime))}
          </Fact>
          <Fact name="Version" waiting={waiting}>
            {build?.gpulse}
          </Fact>
        </dl>
        {storeCount === 1 && <Curves />}
      </section>
      <Sinks samples={own} />
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
        empty="No samples were received in this range."
      />
    </div>
  );
}

interface FactProps {
  readonly name: string;
  /** True until every answer is there, which differs from an absent value. */
  readonly waiting?: boolean;
  readonly children: ComponentChildren;
}

const Fact = ({ name, waiting = false, children }: FactProps) => (
  <div>
    <dt>{name}</dt>
    <dd>
      {children ??
        (waiting ? (
          <span class="skeleton" aria-label="loading" role="img" />
        ) : (
          <span class="absent">n/a</span>
        ))}
    </dd>
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

function Sinks({ samples }: { samples: readonly SelfMetricSample[] | undefined }) {
  return (
    <section aria-label="Sinks">
      <h2 class="section">Sinks</h2>
      <Table
        caption="Where samples are sent, and how far behind"
        class="stacked"
        columns={sinkColumns}
        rows={samples && sinkStatuses(samples)}
        rowKey={({ from, sink }) => `${from} ${sink}`}
        rowLevel={({ up, dropped }) => (up === 0 || dropped > 0 ? "warn" : undefined)}
        empty={
          <Empty title="No sinks.">
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
