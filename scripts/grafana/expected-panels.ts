/**
 * Panels that people who come from other set-ups look for: a GPU observability stack (overview, GPUs, application, machines,
 * containers) and a GPU-Z pipeline. Each by its title and what it asks for; a row stands for the panels in it.
 */

export interface Wanted {
  readonly wants: string;
  readonly title: string;
  readonly asks: string;
  readonly kind?: string;
}

const want = (wants: string, title: string, asks: string, kind?: string): Wanted => ({
  wants,
  title,
  asks,
  ...(kind !== undefined && { kind }),
});

export const stackPanels: readonly Wanted[] = [
  want("system overview", "System overview", "host:gpu_utilization_ratio:avg"),
  want("GPU utilisation as a gauge", "GPU utilisation", "gpu_utilization_ratio", "gauge"),
  want("GPU utilisation per device", "GPU utilisation per device", "gpu_utilization_ratio"),
  want("application performance", "Application performance", "gateway_http_requests_total", "row"),
  want("GPU temperature", "GPU temperature", "gpu_temperature_celsius", "timeseries"),
  want("queue depth", "Queue depth", "gateway_queue_depth"),
  want("service health", "Service health", "up", "state-timeline"),
  want("thermal throttling", "Thermal throttling", "gpu_throttle_active"),
  want("GPU memory used", "GPU memory used and free", "gpu_memory_used_bytes"),
  want("GPU memory free", "GPU memory used and free", "gpu_memory_free_bytes"),
  want("GPU power", "GPU power", "gpu_power_watts"),
  want("performance per watt", "Performance per watt", "gpu_work_units_total", "timeseries"),
  want("performance per watt of tokens", "Tokens per joule by host", "ml_tokens_total"),
  want("GPU error rates", "GPU error rate", "gpu_ecc_errors_total"),
  want("GPU health", "GPU health", "gpu_up"),
  want("CPU", "CPU", "host_cpu_seconds_total"),
  want("load", "Load", "host_load1"),
  want("memory", "System memory", "host_memory_used_bytes"),
  want("disk I/O", "Disk I/O", "host_disk_bytes_total"),
  want("storage", "Storage used", "host_filesystem_available_bytes"),
  want("network throughput", "Network throughput", "host_network_bytes_total"),
  want("network errors", "Network errors and drops", "host_network_errors_total"),
  want("HTTP rate", "HTTP request rate", "gateway_http_requests_total"),
  want(
    "HTTP latency p95 and p99",
    "HTTP latency p50, p95 and p99",
    "gateway_http_request_duration_seconds_bucket",
  ),
  want("active connections", "Active connections", "gateway_active_connections"),
  want(
    "errors by endpoint and status",
    "HTTP errors by endpoint and status",
    "gateway_http_requests_total",
  ),
  want("database pool", "Database pool", "gateway_db_pool_connections"),
  want("cache hit ratio", "Cache hit ratio", "gateway_cache_requests_total"),
  want("container CPU", "Container CPU", "host_container_cpu_seconds_total"),
  want("container memory", "Container memory", "host_container_memory_working_set_bytes"),
  want("container network", "Container network", "host_container_network_bytes_total"),
  want("container filesystem", "Container filesystem (cAdvisor)", "container_fs_usage_bytes"),
  want("container lifecycle", "Container lifecycle", "host_container_starts_total"),
];

/** Asked of InfluxDB, by the field's name. */
export const gpuzPanels: readonly Wanted[] = [
  want("GPU temperature over time", "GPU temperatures", "gpu_temperature", "timeseries"),
  want("hot spot over time", "GPU temperatures", "hot_spot_temperature", "timeseries"),
  want("memory temperature over time", "GPU temperatures", "memory_temperature", "timeseries"),
  want("CPU temperature", "CPU temperature", "cpu_temperature"),
  want("load gauge", "GPU load", "gpu_load", "gauge"),
  want("power", "Power", "board_power"),
  want("GPU memory", "GPU memory", "memory_used"),
  want("system memory", "System memory", "system_memory_used"),
  want("clocks", "Clocks", "gpu_clock"),
  want("count of anomalies", "Anomalies", "tags"),
];

/** The same where the readings are in Prometheus or the hub. */
export const gpuzInPrometheus: readonly Wanted[] = [
  want("temperatures over time", "GPU temperature", "gpu_temperature_celsius", "timeseries"),
  want("CPU temperature", "CPU temperature", "host_cpu_temperature_celsius"),
  want("clocks", "GPU clocks", "gpu_clock_hertz"),
  want("count of anomalies", "Count of anomalies", "gpu_anomaly_active"),
];
