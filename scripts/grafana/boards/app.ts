/** The application in front of the GPUs: requests, latency, errors, pool, cache, and the servers that it depends on. */
import { type Board, falling, type Panel, rising } from "../shape.ts";
import { ask, all, quantile, window } from "./ask.ts";

const at = '{route=~"$route"}';
const bucket = "gateway_http_request_duration_seconds_bucket";

const app = "the demonstration application";

/** A graph whose axis starts at zero. */
const graph = (panel: Omit<Panel, "kind" | "range" | "width"> & Partial<Panel>): Panel => ({
  kind: "timeseries",
  range: [0, undefined],
  width: 8,
  needs: app,
  ...panel,
});

export const application: Board = {
  uid: "gpulse-app",
  title: "gpulse: application performance",
  about: "Requests through nginx and the gateway, what they wait for, and how they end.",
  tags: ["application"],
  source: "prometheus",
  variables: [all("route", "Route", "label_values(gateway_http_requests_total, route)", app)],
  rows: [
    {
      title: "Application performance",
      panels: [
        graph({
          title: "HTTP request rate",
          unit: "reqps",
          about: "Requests by route.",
          targets: [
            ask(`sum by (route) (rate(gateway_http_requests_total${at}[${window}]))`, "{{route}}"),
          ],
        }),
        graph({
          title: "HTTP latency p50, p95 and p99",
          unit: "s",
          about:
            "p99 far above p95: a few requests wait for something the others do not; look at the queue and the pool.",
          targets: [0.5, 0.95, 0.99].map((share) =>
            ask(quantile(share, bucket, "", at), `p${100 * share}`),
          ),
        }),
        graph({
          title: "HTTP latency p95 by route",
          unit: "s",
          about: "Which route is slow.",
          targets: [ask(quantile(0.95, bucket, "route", at), "{{route}}")],
        }),
        graph({
          title: "HTTP errors by endpoint and status",
          unit: "reqps",
          about:
            "4xx: the caller; 503: the queue is full; 504: it took too long; other 5xx: read the gateway's log by trace id.",
          targets: [
            ask(
              `sum by (route, status) (rate(gateway_http_requests_total{route=~"$route",status=~"4..|5.."}[${window}]))`,
              "{{route}} {{status}}",
            ),
          ],
        }),
        {
          title: "Share of failed requests",
          kind: "stat",
          unit: "percentunit",
          about: "5xx of all.",
          targets: [
            ask(
              `(sum(rate(gateway_http_requests_total{route=~"$route",status=~"5.."}[${window}])) or vector(0)) / sum(rate(gateway_http_requests_total${at}[${window}]))`,
              "failed",
            ),
          ],
          steps: rising(0.01, 0.05),
          needs: app,
          width: 4,
        },
        {
          title: "Active connections",
          kind: "stat",
          unit: "short",
          about: "Connections that the gateway holds now.",
          targets: [ask("sum(gateway_active_connections)", "connections")],
          needs: app,
          width: 4,
        },
        {
          title: "Latency distribution",
          kind: "heatmap",
          unit: "s",
          about:
            "How many requests took how long. Two bands are two kinds of requests, or a cache that hits and misses.",
          targets: [ask(`sum by (le) (increase(${bucket}${at}[${window}]))`, "{{le}}")],
          needs: app,
          width: 8,
        },
      ],
    },
    {
      title: "Queue, pool and cache",
      panels: [
        graph({
          title: "Queue depth",
          unit: "short",
          about: "Requests that wait, by queue.",
          targets: [ask("sum by (queue) (gateway_queue_depth)", "{{queue}}")],
        }),
        graph({
          title: "Database pool",
          unit: "short",
          about:
            "Connections by state; dashed is the pool's size. Any that wait: the pool is too small or the database too slow.",
          targets: [
            ask("sum by (state) (gateway_db_pool_connections)", "{{state}}"),
            { ...ask("sum(gateway_db_pool_size)", "size"), dashed: true },
          ],
        }),
        {
          title: "Cache hit ratio",
          kind: "timeseries",
          unit: "percentunit",
          about:
            "Answers that Redis had, of all that were looked for. Falling: more memory, or a longer life of entries.",
          targets: [
            ask(
              `sum(rate(gateway_cache_requests_total{result="hit"}[${window}])) / sum(rate(gateway_cache_requests_total[${window}]))`,
              "hits",
            ),
          ],
          range: [0, 1],
          needs: app,
          width: 8,
        },
        graph({
          title: "Refused because the queue is full",
          unit: "reqps",
          about: "Asked to retry. More than none: more workers, or fewer callers.",
          targets: [ask(`sum(rate(gateway_queue_rejected_total[${window}]))`, "refused")],
        }),
        graph({
          title: "Load: arrivals and aim",
          unit: "reqps",
          about:
            "What the load generator sends, and what it means to. Apart: it is the bottleneck, and its latencies are not to be trusted.",
          targets: [
            ask(`sum(rate(load_arrivals_total[${window}]))`, "arrivals"),
            { ...ask("sum(load_target_rate)", "aim"), dashed: true },
          ],
        }),
        graph({
          title: "Latency as the caller sees it, p95 and p99",
          unit: "s",
          about: "Measured by the load generator from the moment a request was due.",
          targets: [0.95, 0.99].map((share) =>
            ask(quantile(share, "load_request_duration_seconds_bucket", ""), `p${100 * share}`),
          ),
        }),
      ],
    },
    {
      title: "What it stands on",
      panels: [
        graph({
          title: "nginx requests and connections",
          needs: "nginx's exporter",
          unit: "reqps",
          about: "Requests through nginx, and the connections it holds.",
          targets: [
            ask(
              `sum by (instance) (rate(nginx_http_requests_total[${window}]))`,
              "{{instance}} requests",
            ),
            ask(
              "sum by (instance) (nginx_connections_active)",
              "{{instance}} connections",
              "short",
            ),
          ],
        }),
        graph({
          title: "Redis commands and clients",
          needs: "Redis's exporter",
          unit: "ops",
          about: "What Redis does, and for how many.",
          targets: [
            ask(
              `sum by (instance) (rate(redis_commands_processed_total[${window}]))`,
              "{{instance}} commands",
            ),
            ask("sum by (instance) (redis_connected_clients)", "{{instance}} clients", "short"),
          ],
        }),
        graph({
          title: "Redis memory",
          needs: "Redis's exporter",
          unit: "bytes",
          about: "Growing without end: entries without a life, or a queue nobody empties.",
          targets: [ask("redis_memory_used_bytes", "{{instance}}")],
        }),
        graph({
          title: "PostgreSQL transactions",
          needs: "PostgreSQL's exporter",
          unit: "ops",
          about: "Committed and rolled back, over all databases.",
          targets: [
            ask(
              `sum by (instance) (rate(pg_stat_database_xact_commit[${window}]))`,
              "{{instance}} committed",
            ),
            ask(
              `sum by (instance) (rate(pg_stat_database_xact_rollback[${window}]))`,
              "{{instance}} rolled back",
            ),
          ],
        }),
        graph({
          title: "PostgreSQL connections",
          needs: "PostgreSQL's exporter",
          unit: "short",
          about: "By state. Many idle in transaction: a program forgets to end what it began.",
          targets: [ask("sum by (state) (pg_stat_activity_count)", "{{state}}")],
        }),
        {
          title: "PostgreSQL cache hit ratio",
          needs: "PostgreSQL's exporter",
          kind: "gauge",
          unit: "percentunit",
          about:
            "Blocks found in memory, since its statistics began. Below 0.9: more shared_buffers.",
          targets: [
            ask(
              "sum(pg_stat_database_blks_hit) / (sum(pg_stat_database_blks_hit) + sum(pg_stat_database_blks_read))",
              "hits",
            ),
          ],
          steps: falling(0.8, 0.9),
          range: [0, 1],
          width: 8,
        },
        graph({
          title: "Event loop lag, p99",
          unit: "s",
          about:
            "How late the programs' own work comes. Above 100 ms: something computes too long at a time.",
          targets: [ask("nodejs_eventloop_lag_p99_seconds", "{{job}} {{instance}}")],
          width: 24,
        }),
      ],
    },
  ],
};
