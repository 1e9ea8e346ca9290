// Every kind of metric of an observability stack of this size, each with the series that provides it here. Queried from a running
// stack: a kind without a series is reported as missing, never omitted.

import type { Engine } from "./ask.ts";

export interface Category {
  readonly group: string;
  readonly name: string;
  /** The first one with a result is used. */
  readonly asks: readonly string[];
}

const of = (group: string, list: readonly (readonly [string, ...string[]])[]): Category[] =>
  list.map(([name, ...asks]) => ({ group, name, asks }));

const CATEGORIES: readonly Category[] = [
  ...of("GPU", [
    ["utilisation", "gpu_utilization_ratio"],
    ["temperature", "gpu_temperature_celsius"],
    ["thermal throttling", 'gpu_throttle_active{reason=~"thermal.*"}'],
    ["memory used", "gpu_memory_used_bytes"],
    ["memory free", "gpu_memory_free_bytes"],
    ["power", "gpu_power_watts"],
    [
      "error rates",
      "rate(gpu_ecc_errors_total[5m])",
      "gpu_ecc_errors_total",
      "gpu_xid_errors_total",
    ],
    ["health", "gpu_up"],
  ]),
  ...of("machine", [
    ["processors", 'rate(node_cpu_seconds_total{mode!="idle"}[5m])'],
    ["load", "node_load1"],
    ["memory", "node_memory_MemAvailable_bytes"],
    [
      "disk reads and writes",
      "rate(node_disk_read_bytes_total[5m])",
      "rate(node_disk_written_bytes_total[5m])",
    ],
    ["storage", "node_filesystem_avail_bytes"],
    ["network throughput", "rate(node_network_receive_bytes_total[5m])"],
    ["network errors", "rate(node_network_receive_errs_total[5m])"],
  ]),
  ...of("application", [
    ["request rate", "sum by (route) (rate(gateway_http_requests_total[5m]))"],
    [
      "latency, p95",
      "histogram_quantile(0.95, sum by (le) (rate(gateway_http_request_duration_seconds_bucket[5m])))",
    ],
    [
      "latency, p99",
      "histogram_quantile(0.99, sum by (le) (rate(gateway_http_request_duration_seconds_bucket[5m])))",
    ],
    ["active connections", "gateway_active_connections"],
    ["queue depth", "gateway_queue_depth"],
    [
      "errors by endpoint and status",
      'sum by (route, status) (rate(gateway_http_requests_total{status=~"[45].."}[5m]))',
    ],
    ["database pool", "gateway_db_pool_connections"],
    [
      "cache hit ratio",
      'sum(gateway_cache_requests_total{result="hit"}) / sum(gateway_cache_requests_total)',
      "gateway_cache_requests_total",
    ],
    ["web server", "nginx_http_requests_total", "nginx_connections_active"],
    ["Redis", "redis_connected_clients"],
    ["PostgreSQL", "pg_stat_database_xact_commit"],
  ]),
  ...of("container", [
    [
      "processors",
      'rate(container_cpu_usage_seconds_total{name!=""}[5m])',
      "host_container_cpu_seconds_total",
    ],
    ["memory", 'container_memory_usage_bytes{name!=""}', "host_container_memory_bytes"],
    ["network", "rate(container_network_receive_bytes_total[5m])"],
    [
      "filesystem",
      "container_fs_usage_bytes",
      "rate(container_fs_writes_bytes_total[5m])",
      "rate(host_container_disk_bytes_total[5m])",
    ],
    ["lifecycle", 'container_start_time_seconds{name!=""}', 'container_last_seen{name!=""}'],
  ]),
];

export interface FoundCategory extends Category {
  readonly expression?: string;
  readonly series: number;
  readonly example?: number;
}

export async function findCategories(engine: Engine): Promise<readonly FoundCategory[]> {
  return Promise.all(
    CATEGORIES.map(async (category) => {
      for (const expression of category.asks) {
        const found = (await engine.query(expression)).filter(({ value }) => !Number.isNaN(value));
        const [first] = found;
        if (first !== undefined)
          return { ...category, expression, series: found.length, example: first.value };
      }
      return { ...category, series: 0 };
    }),
  );
}
