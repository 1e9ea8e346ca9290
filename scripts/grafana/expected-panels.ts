/**
 * Panels that users of other setups expect: a GPU observability stack (overview, GPUs, application, machines, containers) and a
 * GPU-Z pipeline. Each with its title and its metric; a row stands for its panels.
 */

export interface ExpectedPanel {
  readonly wants: string;
  readonly title: string;
  readonly asks: string;
  readonly kind?: string;
}

const expectPanel = (wants: string, title: string, asks: string, kind?: string): ExpectedPanel => ({
  wants,
  title,
  asks,
  ...(kind !== undefined && { kind }),
});

export const stackPanels: readonly ExpectedPanel[] = [
  expectPanel("system overview", "System overview", "host:gpu_utilization_ratio:avg"),
  expectPanel("GPU utilisation as a gauge", "GPU utilisation", "gpu_utilization_ratio", "gauge"),
  expectPanel("GPU utilisation per device", "GPU utilisation per device", "gpu_utilization_ratio"),
  expectPanel(
    "application performance",
    "Application performance",
    "gateway_http_requests_total",
    "row",
  ),
  expectPanel("GPU temperature", "GPU temperature", "gpu_temperature_celsius", "timeseries"),
  expectPanel("queue depth", "Queue depth", "gateway_queue_depth"),
  expectPanel("service health", "Service health", "up", "state-timeline"),
  expectPanel("thermal throttling", "Thermal throttling", "gpu_throttle_active"),
  expectPanel("GPU memory used", "GPU memory used and free", "gpu_memory_used_bytes"),
  expectPanel("GPU memory free", "GPU memory used and free", "gpu_memory_free_bytes"),
  expectPanel("GPU power", "GPU power", "gpu_power_watts"),
  expectPanel("performance per watt", "Performance per watt", "gpu_work_units_total", "timeseries"),
  expectPanel("performance per watt of tokens", "Tokens per joule by host", "ml_tokens_total"),
  expectPanel("GPU error rates", "GPU error rate", "gpu_ecc_errors_total"),
  expectPanel("GPU health", "GPU health", "gpu_up"),
  expectPanel("CPU", "CPU", "host_cpu_seconds_total"),
  expectPanel("load", "Load", "host_load1"),
  expectPanel("memory", "System memory", "host_memory_used_bytes"),
  expectPanel("disk I/O", "Disk I/O", "host_disk_bytes_total"),
  expectPanel("storage", "Storage used", "host_filesystem_available_bytes"),
  expectPanel("network throughput", "Network throughput", "host_network_bytes_total"),
  expectPanel("network errors", "Network errors and drops", "host_network_errors_total"),
  expectPanel("HTTP rate", "HTTP request rate", "gateway_http_requests_total"),
  expectPanel(
    "HTTP latency p95 and p99",
    "HTTP latency p50, p95 and p99",
    "gateway_http_request_duration_seconds_bucket",
  ),
  expectPanel("active connections", "Active connections", "gateway_active_connections"),
  expectPanel(
    "errors by endpoint and status",
    "HTTP errors by endpoint and status",
    "gateway_http_requests_total",
  ),
  expectPanel("database pool", "Database pool", "gateway_db_pool_connections"),
  expectPanel("cache hit ratio", "Cache hit ratio", "gateway_cache_requests_total"),
  expectPanel("container CPU", "Container CPU", "host_container_cpu_seconds_total"),
  expectPanel("container memory", "Container memory", "host_container_memory_working_set_bytes"),
  expectPanel("container network", "Container network", "host_container_network_bytes_total"),
  expectPanel(
    "container filesystem",
    "Container filesystem (cAdvisor)",
    "container_fs_usage_bytes",
  ),
  expectPanel("container lifecycle", "Container lifecycle", "host_container_starts_total"),
];

/** Queried from InfluxDB, by field name. */
export const gpuzPanels: readonly ExpectedPanel[] = [
  expectPanel("GPU temperature over time", "GPU temperatures", "gpu_temperature", "timeseries"),
  expectPanel("hot spot over time", "GPU temperatures", "hot_spot_temperature", "timeseries"),
  expectPanel(
    "memory temperature over time",
    "GPU temperatures",
    "memory_temperature",
    "timeseries",
  ),
  expectPanel("CPU temperature", "CPU temperature", "cpu_temperature"),
  expectPanel("load gauge", "GPU load", "gpu_load", "gauge"),
  expectPanel("power", "Power", "board_power"),
  expectPanel("GPU memory", "GPU memory", "memory_used"),
  expectPanel("system memory", "System memory", "system_memory_used"),
  expectPanel("clocks", "Clocks", "gpu_clock"),
  expectPanel("count of anomalies", "Anomalies", "tags"),
];

/** The same panels for readings in Prometheus or the hub. */
export const gpuzInPrometheus: readonly ExpectedPanel[] = [
  expectPanel("temperatures over time", "GPU temperature", "gpu_temperature_celsius", "timeseries"),
  expectPanel("CPU temperature", "CPU temperature", "host_cpu_temperature_celsius"),
  expectPanel("clocks", "GPU clocks", "gpu_clock_hertz"),
  expectPanel("count of anomalies", "Count of anomalies", "gpu_anomaly_active"),
];
