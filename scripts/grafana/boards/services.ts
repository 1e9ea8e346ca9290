/** Whether everything that should run does: scrape targets, the servers behind the exporters, and gpulse itself. */
import { self } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, falling, none, type Panel, up } from "../shape.ts";
import { ask, all, window } from "./ask.ts";

const job = '{job=~"$job"}';

const server = (title: string, metric: string): Panel => ({
  title,
  kind: "stat",
  unit: "short",
  about: `What the exporter says of the server it watches. Down while the target is up: the server is gone, its exporter is not.`,
  targets: [ask(`min by (instance) (${metric})`, "{{instance}}")],
  words: up,
  needs: "its exporter",
  width: 4,
  height: 5,
});

export const services: Board = {
  uid: "gpulse-services",
  title: "gpulse: service health",
  about: "Every target, the servers behind them, and what gpulse says of itself.",
  tags: ["services"],
  source: "prometheus",
  variables: [all("job", "Job", "label_values(up, job)")],
  rows: [
    {
      title: "Service health",
      panels: [
        {
          title: "Targets up",
          kind: "gauge",
          unit: "percentunit",
          about: "Share of the targets that answer.",
          targets: [ask(`avg(up${job})`, "up")],
          range: [0, 1],
          steps: falling(0.9, 1),
          width: 4,
          height: 5,
        },
        {
          title: "Targets down",
          kind: "stat",
          unit: "short",
          about: "Targets that do not answer. The table names them.",
          targets: [ask(`count(up${job} == 0) or 0 * count(up${job})`, "down")],
          steps: none,
          width: 4,
          height: 5,
        },
        server("Redis", "redis_up"),
        server("PostgreSQL", "pg_up"),
        server("nginx", "nginx_up"),
        metricPanel(self.sourceUp, {
          title: "Sources of agents",
          todo: "Share of the sources whose last read was good.",
          kind: "gauge",
          targets: [ask("avg(gpulse_source_success)", "good", "percentunit")],
          range: [0, 1],
          steps: falling(0.9, 1),
          width: 4,
          height: 5,
        }),
        {
          title: "Service health",
          kind: "state-timeline",
          unit: "short",
          about:
            "Each target over time. One that flaps restarts, or answers too slowly for its scrape.",
          targets: [ask(`min by (job, instance) (up${job})`, "{{job}} {{instance}}")],
          words: up,
          width: 16,
          height: 12,
        },
        {
          title: "Targets",
          kind: "table",
          unit: "short",
          about: "Every target, those that are down first.",
          targets: [ask(`sort(min by (job, instance) (up${job}))`, "up")],
          showsTarget: true,
          words: up,
          width: 8,
          height: 12,
        },
      ],
    },
    {
      title: "Scrapes and processes",
      panels: [
        {
          title: "Scrape duration",
          kind: "timeseries",
          unit: "s",
          about:
            "The twenty slowest. Near the scrape's timeout: fewer series, or a longer interval.",
          targets: [ask(`topk(20, scrape_duration_seconds${job})`, "{{job}} {{instance}}")],
          range: [0, undefined],
          width: 8,
        },
        {
          title: "Samples per scrape",
          kind: "timeseries",
          unit: "short",
          about: "By job. A jump is a new label with too many values.",
          targets: [ask(`sum by (job) (scrape_samples_scraped${job})`, "{{job}}")],
          range: [0, undefined],
          width: 8,
        },
        metricPanel(self.residentMemory, {
          title: "Memory by process",
          todo: "Growing for days: a leak.",
          kind: "timeseries",
          targets: [ask(`topk(20, process_resident_memory_bytes${job})`, "{{job}} {{instance}}")],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(self.cpu, {
          title: "Processor time by process",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(
              `topk(20, rate(process_cpu_seconds_total${job}[${window}]))`,
              "{{job}} {{instance}}",
            ),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(self.openFiles, {
          title: "Open files by process",
          kind: "timeseries",
          targets: [ask(`topk(20, process_open_fds${job})`, "{{job}} {{instance}}")],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(self.lagP99, {
          title: "Event-loop delay (p99)",
          todo: "Above 0.25 s every request waits: look for expensive queries, rules and ingestion.",
          kind: "timeseries",
          targets: [
            ask(`topk(20, nodejs_eventloop_lag_p99_seconds${job})`, "{{job}} {{instance}}"),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(self.heapUsed, {
          title: "Heap in use",
          todo: "Close to its limit (nodejs_heap_size_limit_bytes) the process ends.",
          kind: "timeseries",
          targets: [ask(`topk(20, nodejs_heap_size_used_bytes${job})`, "{{job}} {{instance}}")],
          range: [0, undefined],
          width: 8,
        }),
        {
          title: "Share of time in garbage collection",
          kind: "timeseries",
          unit: "percentunit",
          about: "Above a fifth: too little memory, or too much to do.",
          targets: [
            ask(
              `topk(20, sum by (job, instance) (rate(nodejs_gc_duration_seconds_sum${job}[${window}])))`,
              "{{job}} {{instance}}",
            ),
          ],
          range: [0, undefined],
          width: 8,
        },
        metricPanel(self.startTime, {
          title: "Time since the start",
          kind: "table",
          targets: [ask(`sort(time() - process_start_time_seconds${job})`, "running for")],
          showsTarget: true,
          width: 8,
        }),
      ],
    },
    {
      title: "gpulse",
      panels: [
        metricPanel(self.sourceDuration, {
          title: "Reading a source takes",
          kind: "timeseries",
          targets: [
            ask(
              "topk(20, gpulse_source_read_duration_seconds)",
              "{{instance}} {{source}} {{tier}}",
            ),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(self.frameAge, {
          title: "Age of readings",
          todo: "Older than a few intervals: the source hangs.",
          kind: "timeseries",
          targets: [ask("topk(20, gpulse_frame_age_seconds)", "{{instance}} {{source}} {{tier}}")],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(self.received, {
          title: "Samples the hub took in",
          rate: true,
          kind: "timeseries",
          todo: "Anything but stored for long is data lost or sent in vain.",
          targets: [
            ask(
              `sum by (way, outcome) (rate(gpulse_received_samples_total[${window}]))`,
              "{{way}} {{outcome}}",
            ),
          ],
          range: [0, undefined],
          needs: "a hub that is asked or scraped",
          width: 8,
        }),
        metricPanel(self.storeSeries, {
          title: "Series in the stores",
          kind: "timeseries",
          targets: [
            ask("gpulse_store_series", "hub {{instance}}"),
            ask("prometheus_tsdb_head_series", "Prometheus {{instance}}"),
          ],
          range: [0, undefined],
          needs: "a hub and a Prometheus that are scraped",
          width: 12,
        }),
        metricPanel(self.storeBytes, {
          title: "The hub's store on disk",
          kind: "timeseries",
          targets: [ask("gpulse_store_bytes", "{{instance}}")],
          range: [0, undefined],
          needs: "a hub that is asked or scraped",
          width: 12,
        }),
      ],
    },
  ],
};
