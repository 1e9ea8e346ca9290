/**
 * The settings with a single value each, by section of gpulse.yaml. Settings of alerting, the lake and pushing are declared
 * beside their code.
 */
import * as v from "valibot";
import { logLevels } from "../../base/log.ts";
import { assumablePrecisions } from "../../model/gpu-rates.ts";
import { featureList, features } from "./features.ts";
import { retentionRules } from "./retention-rules.ts";
import { byteSize, durationMs, logLevel, port, text, wholeNumber } from "../../config/fields.ts";

const DAY_MS = 86_400_000;

/** Paths that the agent serves besides the metrics path. */
export const agentPaths = [
  "/",
  "/stats",
  "/api/health",
  "/api/snapshot",
  "/healthz",
  "/readyz",
] as const;

export function metricsPath() {
  const takes = "a path that begins with /, such as /metrics, without a query";
  return v.pipe(
    v.string(takes),
    v.regex(/^\/[\w./~-]{0,200}$/, takes),
    // Clients resolve dot segments and double slashes before sending a request, so such a path is unreachable.
    v.check((path) => new URL(path, "http://agent").pathname === path, takes),
    v.check(
      (path) => !agentPaths.some((own) => own === path),
      `a different path, such as /metrics: the agent serves ${agentPaths.join(", ")} itself`,
    ),
  );
}

/** An exemplar label in braces. */
const traceLabel = /\{[A-Za-z_][A-Za-z0-9_]*\}/;

function traceUrl() {
  const takes = "a URL with a label in braces, such as https://tempo.example/trace/{trace_id}";
  return v.pipe(
    v.string(takes),
    v.check((given) => /^https?:\/\//.test(given) && URL.canParse(given), takes),
    v.regex(traceLabel, takes),
  );
}

/** A list in the file, or comma-separated origins. Paths and wildcards are refused: they would allow more than intended. */
function originList() {
  const takes = "origins such as https://wiki.example, with commas between them, at most 50";
  const isOrigin = (given: string): boolean =>
    /^https?:\/\//.test(given) && URL.canParse(given) && new URL(given).origin === given;
  return v.pipe(
    v.union([v.string(takes), v.array(v.string(takes), takes)], takes),
    v.transform((given) =>
      (Array.isArray(given) ? given : given.split(","))
        .map((one) => one.trim().replace(/\/$/, ""))
        .filter((one) => one !== ""),
    ),
    v.check((origins) => origins.length <= 50 && origins.every(isOrigin), takes),
  );
}

const durabilities = ["process", "power"] as const;

const hostFlag = ["--host <address>", "listen on this address"] as const;
const portFlag = ["--port <number>", "listen on this port, 0 for any free one"] as const;
const address = () => text("an address such as 127.0.0.1 or 0.0.0.0");

export const generalSettings = {
  interval: {
    schema: durationMs(100, DAY_MS),
    flag: ["--interval <duration>", "how often to read the GPUs"],
    fallback: "1s",
    variable: "COLLECTION_INTERVAL",
    description:
      "How often to read the GPUs. Slow readings are read every 5 s at most, static ones every minute.",
  },
  bound_window: {
    schema: durationMs(1_000, 3_600_000),
    flag: ["--bound-window <duration>", "how long a stretch gpu_bound is judged by"],
    fallback: "1m",
    description:
      "How long a stretch `gpu_bound` is judged by: see [what bounds a GPU](../guides/gpu-bound.md).",
  },
  tensor_precision: {
    schema: v.picklist(assumablePrecisions, `one of ${assumablePrecisions.join(", ")}`),
    flag: [
      "--tensor-precision <name>",
      "what tensor cores are assumed to compute in for FLOP/s estimates",
    ],
    words: assumablePrecisions,
    fallback: "bf16",
    description:
      "What `gpu_tensor_flops_estimate` assumes the tensor cores compute in: their counter does not separate FP16, BF16, TF32 and FP8.",
  },
  host_name: {
    schema: text("a host name"),
    flag: ["--host-name <name>", "the host label of every series"],
    fallbackText: "this machine's name",
    description: "The `host` label on every series. Default: this machine's name.",
  },
  log_level: {
    schema: logLevel(),
    flag: ["--log-level <level>", "log only from this level on"],
    words: logLevels,
    fallback: "info",
    variable: "LOG_LEVEL",
    description: "Log only from this level on.",
  },
  sysfs: {
    schema: text("a folder"),
    flag: ["--sysfs <dir>", "mount point of sysfs"],
    fallback: "/sys",
    description: "Where /sys is mounted.",
  },
  procfs: {
    schema: text("a folder"),
    flag: ["--procfs <dir>", "mount point of procfs"],
    fallback: "/proc",
    description: "Where /proc is mounted.",
  },
  kubelet_socket: {
    schema: text("a socket"),
    flag: ["--kubelet-socket <file>", "the kubelet's PodResources socket"],
    fallback: "/var/lib/kubelet/pod-resources/kubelet.sock",
    description: "The kubelet's PodResources socket, which lists the pods that hold GPUs.",
  },
} as const;

export const agentSettings = {
  host: {
    schema: address(),
    flag: hostFlag,
    fallback: "0.0.0.0",
    description:
      "Address the agent listens on; all interfaces by default, so that Prometheus can scrape it.",
  },
  port: {
    schema: port(),
    flag: portFlag,
    fallback: "9400",
    variable: "EXPORTER_PORT",
    description: "Port of the agent.",
  },
  metrics_path: {
    schema: metricsPath(),
    flag: ["--metrics-path <path>", "serve the metrics for Prometheus under this path"],
    fallback: "/metrics",
    variable: "METRICS_PATH",
    description: "Path of the metrics for Prometheus.",
  },
} as const;

export const hubSettings = {
  host: {
    schema: address(),
    flag: hostFlag,
    fallback: "127.0.0.1",
    description: "Address the hub listens on; loopback only by default.",
  },
  port: {
    schema: port(),
    flag: portFlag,
    fallback: "9410",
    description: "Port of the hub and its page.",
  },
  data: {
    schema: text("a folder"),
    flag: ["--data <dir>", "the hub's data folder"],
    fallback: "gpulse-data",
    variable: "GPULSE_DATA",
    description: "The data folder of the hub.",
  },
  retention: {
    // An hour to a thousand years, so that any existing history can be imported.
    schema: durationMs(3_600_000, 1_000 * 365 * DAY_MS),
    flag: ["--retention <duration>", "how long to retain the history"],
    fallback: "30d",
    description: "How long to retain the history.",
  },
  rollup_retention: {
    schema: durationMs(0, 1_000 * 365 * DAY_MS),
    flag: [
      "--rollup-retention <duration>",
      "how long to retain rollups of the history, 5-minute ones for a fifth of it; 0 makes none",
    ],
    fallback: "1y",
    description:
      "How long to retain rollups of the history: hourly ones for all of it, 5-minute ones for a fifth, both at least as long as the raw samples. 0 makes none and removes existing ones.",
  },
  retention_rules: {
    schema: retentionRules(),
    fallbackText: "none",
    description:
      "Series to retain for less long: a list of rules such as `'{__name__=~\"gpulse_.*\"}: 7d'`, a selector and a duration for raw samples and rollups, or two: `'{job=\"batch\"}: 7d 90d'` removes rollups after 90 days. Of several rules the shortest counts. See [retention by series](../guides/hub.md#retention-by-series).",
  },
  retention_size: {
    // The WAL alone may use an eighth of it.
    schema: byteSize("64MB"),
    flag: [
      "--retention-size <size>",
      "limit the history to this size, such as 50GB, by removing the oldest blocks",
    ],
    fallbackText: "no limit",
    description:
      "Size limit of the history, blocks and log together; the oldest blocks are removed first.",
  },
  durability: {
    schema: v.picklist(durabilities, `one of ${durabilities.join(", ")}`),
    flag: [
      "--durability <failure>",
      "the failure an acknowledged sample survives, a killed process or a power cut",
    ],
    words: durabilities,
    fallback: "process",
    description:
      "What an acknowledged sample survives: `process` (a kill of the hub; default) or `power` (a power cut: acknowledged after fdatasync).",
  },
  memory: {
    // Below this a hub has no room left for queries.
    schema: byteSize("256MB"),
    flag: ["--memory <size>", "limit the memory of this process to this size, such as 2GB"],
    fallbackText: "the cgroup's limit, or half of the machine's memory",
    variable: "GPULSE_MEMORY",
    description:
      "Memory that this process may use; budgets for queries and series are derived from it: see [limits](limits.md#memory). Default: the limit of the cgroup, or half of the machine's memory.",
  },
  max_exemplars: {
    schema: wholeNumber(0, 10_000_000),
    flag: ["--max-exemplars <number>", "exemplars to hold for all series together, 0 for none"],
    fallback: "100000",
    description:
      "Exemplars held for all series together; each new one takes the place of the oldest. `0` stores none. They are in memory, some 500 bytes each, and survive a restart.",
  },
  embed_origins: {
    schema: originList(),
    flag: [
      "--embed-origins <origins>",
      "let pages of these origins show boards in a frame, such as https://wiki.example",
    ],
    fallbackText: "none",
    description:
      "Origins whose pages may show the [boards](../guides/boards.md) in a frame, a list or origins with commas, such as `https://wiki.example`. No other page of the hub can be framed.",
  },
  trace_url: {
    schema: traceUrl(),
    flag: ["--trace-url <url>", "page of a trace, such as https://tempo.example/trace/{trace_id}"],
    fallbackText: "no link",
    description:
      "Where an exemplar's dot on a chart leads: a URL with labels of the exemplar in braces, such as `https://tempo.example/trace/{trace_id}`.",
  },
  query_workers: {
    schema: wholeNumber(0, 64),
    flag: ["--query-workers <number>", "evaluate large queries in this many threads, 0 for none"],
    fallbackText: "one less than the processor's cores, at most 4",
    description:
      "Threads that evaluate large queries, so that these delay neither ingest nor small queries; `0` evaluates all in the main thread. They start with the first large query and end after 30 s without one. Default: one less than the cores this process may use, at most 4; none on one core.",
  },
  enable_feature: {
    schema: featureList(),
    flag: ["--enable-feature <names>", `Prometheus's feature flags: ${features.join(", ")}`],
    fallbackText: "none",
    description:
      "Feature flags of Prometheus in its spelling, a list or names with commas. `native-histograms`: jobs without `scrape_native_histograms` scrape native histograms. `created-timestamp-zero-ingestion`: a zero sample is stored at the start time of a counter or histogram, where the protocol reports one and it is newer than the last sample, so that `increase` sees the first increment. `exemplar-storage`: accepted; exemplars are always received. `st-storage`: the start time of each sample is stored, where the protocol reports one and the history is in the data folder. `use-start-timestamps`: `rate`, `increase`, `irate`, `resets` and `start_timestamp` use stored start times.",
  },
  native_histogram_bucket_limit: {
    schema: wholeNumber(0, 65_536),
    flag: [
      "--native-histogram-bucket-limit <number>",
      "merge buckets of received native histograms down to this many, 0 for no limit",
    ],
    fallback: "0",
    description:
      "Buckets of one native histogram that remote-write and OTLP may send. A finer one loses resolution, down to schema -4; one that still has more, or custom buckets, is refused. `0` is no limit but 65,536, which no setting raises. Scrape jobs have a setting of the same name.",
  },
  ingest_workers: {
    schema: wholeNumber(0, 64),
    flag: [
      "--ingest-workers <number>",
      "decode received requests in this many worker threads, 0 for none",
    ],
    fallbackText: "from 4 cores on: cores less one, at most 4 and one per GiB of memory",
    variable: "GPULSE_INGEST_WORKERS",
    description:
      "Worker threads that decode requests of remote-write, OTLP, Influx line and JSON; `0`: the hub's own thread decodes them. They start with the first concurrent requests of more than 32 KiB and end when idle. Default: none on fewer than 4 cores; else the number of cores less one, at most 4 and one per GiB of the memory limit.",
  },
} as const;
