/** Self-metrics: duration and success per source, losses per sink, and the process itself. */
import type { LabelSpec } from "./entry.ts";
import { own, storageSelf } from "./self-storage.ts";
import { vendors } from "../vendor.ts";

const source: LabelSpec = { name: "source", help: "Name of the source." };
const tier: LabelSpec = {
  name: "tier",
  help: "Which schedule.",
  values: ["fast", "slow", "static", "stream"],
};
const agent: LabelSpec = { name: "agent", help: "Name of the agent: its instance." };
const sink: LabelSpec = { name: "sink", help: "Name of the sink." };
const alertmanager: LabelSpec = {
  name: "alertmanager",
  help: "Address to which alerts are posted.",
};
const ruleGroup: LabelSpec = { name: "rule_group", help: "File and name of the group." };

export const self = {
  buildInfo: own("gpulse_build_info", {
    help: "The running program; the value is always 1.",
    labels: [
      { name: "version", help: "Version of gpulse." },
      { name: "revision", help: "Commit of the build." },
      { name: "node", help: "Version of Node.js." },
    ],
  }),
  sourceUp: own("gpulse_source_success", {
    help: "1 if the last read succeeded, 0 if it failed, missed its deadline or returned an invalid frame.",
    labels: [source, tier],
    resolution: 1,
  }),
  sourceDuration: own("gpulse_source_read_duration_seconds", {
    help: "Duration of the last completed read.",
    labels: [source, tier],
  }),
  sourceLastSuccess: own("gpulse_source_last_success_timestamp_seconds", {
    help: "Time of the last successful read.",
    labels: [source, tier],
  }),
  sourceReads: own("gpulse_source_reads_total", {
    help: "Reads by outcome: late missed the deadline, invalid returned no usable frame.",
    labels: [
      source,
      tier,
      { name: "outcome", help: "Outcome.", values: ["ok", "failed", "late", "invalid"] },
    ],
  }),
  sourceSkipped: own("gpulse_source_skipped_ticks_total", {
    help: "Ticks skipped because the previous read was still running or the process was late.",
    labels: [source, tier],
  }),
  sourceRejectedRows: own("gpulse_source_rejected_rows_total", {
    help: "Rows of the source's input that could not be used, such as those of a GPU-Z log with more or fewer cells than its header.",
    labels: [source],
  }),
  readingsRejected: own("gpulse_readings_rejected_total", {
    help: "Implausible readings returned by a source; they are reported as absent. The log names GPU, metric and value once.",
    labels: [
      source,
      { name: "metric", help: "Metric of the catalogue; other for any other name." },
      {
        name: "reason",
        help: "Outside the metric's plausible range, a value that drivers use for unknown, or not a number.",
        values: ["out_of_range", "sentinel", "not_a_number"],
      },
    ],
    resolution: 1,
  }),
  sourceRestarts: own("gpulse_source_process_restarts_total", {
    help: "Restarts of the process that a source reads through, for example after a crash in the driver's library.",
    labels: [source],
    resolution: 1,
  }),
  sourceProcessCpu: own("gpulse_source_process_cpu_seconds_total", {
    help: "Processor time of the process that a source reads through, since its start; not included in process_cpu_seconds_total.",
    labels: [source],
  }),
  sourceProcessMemory: own("gpulse_source_process_resident_memory_bytes", {
    help: "Resident memory of the process that a source reads through, including pages shared with this process.",
    labels: [source],
  }),
  sourceReadings: own("gpulse_source_readings", {
    help: "Readings in the last frame by presence; absent ones are omitted from the page and counted here by reason.",
    labels: [
      source,
      tier,
      {
        name: "state",
        help: "Present, or the reason for its absence.",
        values: ["present", "unsupported", "denied", "asleep", "failed", "pending"],
      },
    ],
    resolution: 1,
  }),
  frameAge: own("gpulse_frame_age_seconds", {
    help: "Age of the values on this page, by source and tier, at the time of the scrape.",
    labels: [source, tier],
    resolution: 0.001,
  }),
  sinkFrames: own("gpulse_sink_frames_total", {
    help: "Frames passed to the sink.",
    labels: [sink],
  }),
  sinkDropped: own("gpulse_sink_dropped_frames_total", {
    help: "Frames dropped because the sink's queue was full, oldest first.",
    labels: [sink],
  }),
  sinkFailures: own("gpulse_sink_failures_total", {
    help: "Frames that the sink rejected with an error.",
    labels: [sink],
  }),
  pipeFrames: own("gpulse_pipe_frames_total", {
    help: "Frames read from a source of the pipe and passed to every sink.",
    labels: [source],
  }),
  pipeLag: own("gpulse_pipe_lag_seconds", {
    help: "Age of the source's newest frame when its sinks accepted it; replayed frames keep their own timestamps, so their age is large.",
    labels: [source],
    resolution: 0.001,
  }),
  pipeLagRecords: own("gpulse_pipe_lag_records", {
    help: "Available records that the pipe has not read yet, as last reported by the log.",
    labels: [
      source,
      { name: "log", help: "The topic." },
      { name: "partition", help: "Its partition." },
    ],
    resolution: 1,
  }),
  pipeDeadLetters: own("gpulse_pipe_dead_letters_total", {
    help: "Input that could not be decoded to a frame, by where it was stored: in a sink, in a topic, or only counted here.",
    labels: [
      source,
      { name: "outcome", help: "Where it was stored.", values: ["kept", "counted"] },
    ],
  }),
  pipeCheckpoints: own("gpulse_pipe_checkpoints_total", {
    help: "Checkpoints: all sinks had stored everything and the sources were acknowledged.",
  }),
  pipeLastCheckpoint: own("gpulse_pipe_last_checkpoint_timestamp_seconds", {
    help: "Time of the last checkpoint.",
  }),
  pipeCheckpointDuration: own("gpulse_pipe_checkpoint_duration_seconds", {
    help: "Duration of the last checkpoint; nothing is read while it runs.",
  }),
  pipeUncommitted: own("gpulse_pipe_uncommitted_frames", {
    help: "Frames since the last checkpoint; they are read again after a crash.",
    resolution: 1,
  }),
  pipeLate: own("gpulse_pipe_late_frames_total", {
    help: "Frames that arrived after their window had closed: passed on, but not part of any window.",
  }),
  spoolBytes: own("gpulse_spool_bytes", {
    help: "Bytes on disk waiting to be sent by the sink.",
    labels: [sink],
  }),
  spoolRecords: own("gpulse_spool_records", {
    help: "Records on disk waiting to be sent by the sink.",
    labels: [sink],
    resolution: 1,
  }),
  spoolDropped: own("gpulse_spool_dropped_samples_total", {
    help: "Samples dropped from the spool, by reason: its limit in bytes or age, a full disk, or damage.",
    labels: [sink, { name: "reason", help: "Why.", values: ["full", "old", "disk", "damaged"] }],
  }),
  shipSamples: own("gpulse_ship_samples_total", {
    help: "Samples with a final response of the receiver: accepted, or rejected permanently.",
    labels: [sink, { name: "outcome", help: "How.", values: ["sent", "refused"] }],
  }),
  shipRetries: own("gpulse_ship_retries_total", {
    help: "Failed sends that are retried.",
    labels: [sink],
  }),
  shipLag: own("gpulse_ship_lag_seconds", {
    help: "Age of the oldest record waiting to be sent; 0 if none is waiting.",
    labels: [sink],
    resolution: 0.001,
  }),
  shipUp: own("gpulse_ship_success", {
    help: "1 while sending succeeds, 0 while it fails.",
    labels: [sink],
    resolution: 1,
  }),
  shipClockDifference: own("gpulse_ship_clock_difference_seconds", {
    help: "How far this machine's clock is ahead of the clock of the hub that the sink pushes to; negative if behind.",
    labels: [sink],
    resolution: 0.001,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
  }),
  shipRestamped: own("gpulse_ship_restamped_samples_total", {
    help: "Samples whose timestamps were corrected before sending because this machine's clock had been wrong.",
    labels: [sink],
  }),
  ...storageSelf,
  exporterGpus: own("gpulse_exporter_gpus", {
    help: "GPUs reported by exporters, scraped or pushed; shown and stored like those of an agent.",
    labels: [
      {
        name: "exporter",
        help: "Exporter whose metric names the series have; `gpulse` for a scraped agent.",
      },
    ],
  }),
  exporterIgnored: own("gpulse_exporter_ignored_series_total", {
    help: "Series of exporters' GPUs that are not read as GPUs because of a limit: 1,024 GPUs on one target, 100,000 in total, or 1,000,000 samples waiting to be combined.",
    labels: [{ name: "path", help: "Scraped or pushed.", values: ["scrape", "push"] }],
  }),
  agents: own("gpulse_agents", {
    help: "Agents that push to this hub, by state.",
    labels: [
      {
        name: "state",
        help: "ok, late (its frames arrive late), silent (no frames), stopped (shut down cleanly).",
        values: ["ok", "late", "silent", "stopped"],
      },
    ],
    resolution: 1,
  }),
  uuidConflicts: own("gpulse_hub_uuid_conflicts", {
    help: "GPU uuids reported by several hosts or agents at the same time. GPUs of different hosts are distinguished by `host`.",
    resolution: 1,
  }),
  agentUp: own("gpulse_agent_up", {
    help: "1 while the agent pushes, 0 if it has stopped reporting; absent after a clean shutdown.",
    labels: [agent],
    resolution: 1,
  }),
  agentLastSeen: own("gpulse_agent_last_seen_timestamp_seconds", {
    help: "Time of the agent's last report.",
    labels: [agent],
  }),
  agentLag: own("gpulse_agent_lag_seconds", {
    help: "Age of the agent's newest frame when it arrived.",
    labels: [agent],
    resolution: 0.001,
  }),
  agentClockDifference: own("gpulse_agent_clock_difference_seconds", {
    help: "How far the agent's clock is behind the hub's; negative if ahead.",
    labels: [agent],
    resolution: 0.001,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
  }),
  agentSpoolBytes: own("gpulse_agent_spool_bytes", {
    help: "Bytes in the agent's spool, as last reported.",
    labels: [agent],
  }),
  accessRefused: own("gpulse_access_refused_total", {
    help: "Requests to the hub refused by access control.",
    labels: [
      {
        name: "reason",
        help: "No credentials, wrong credentials, insufficient scope, or too many attempts.",
        values: ["missing", "unknown", "revoked", "expired", "password", "scope", "too-many"],
      },
    ],
    resolution: 1,
  }),
  certificateExpiry: own("gpulse_tls_certificate_expiry_timestamp_seconds", {
    help: "Expiry time of the hub's certificate; absent without TLS.",
    resolution: 1,
  }),
  rulesReloaded: own("gpulse_config_last_reload_successful", {
    help: "1 if the last reload of rules and routing succeeded, 0 if the previous ones stay in use.",
    resolution: 1,
  }),
  rulesReloadTime: own("gpulse_config_last_reload_success_timestamp_seconds", {
    help: "Time of the last successful reload of rules and routing.",
  }),
  ruleAlerts: own("gpulse_rule_alerts", {
    help: "Alerts of the hub's own rules, by state.",
    labels: [{ name: "state", help: "State.", values: ["pending", "firing"] }],
    resolution: 1,
  }),
  ruleGroupInterval: own("gpulse_rule_group_interval_seconds", {
    help: "Evaluation interval of the group.",
    labels: [ruleGroup],
  }),
  ruleGroupDuration: own("gpulse_rule_group_last_duration_seconds", {
    help: "Duration of the group's last evaluation.",
    labels: [ruleGroup],
  }),
  ruleGroupMissed: own("gpulse_rule_group_iterations_missed_total", {
    help: "Evaluations skipped because the previous one took too long.",
    labels: [ruleGroup],
  }),
  ruleEvaluations: own("gpulse_rule_evaluations_total", {
    help: "Rules evaluated.",
    labels: [ruleGroup],
  }),
  ruleFailures: own("gpulse_rule_evaluation_failures_total", {
    help: "Rules that could not be evaluated.",
    labels: [ruleGroup],
  }),
  alertsHeld: own("gpulse_alerts", {
    help: "Alerts routed by the hub, by state.",
    labels: [{ name: "state", help: "State.", values: ["active", "suppressed"] }],
    resolution: 1,
  }),
  silences: own("gpulse_silences", {
    help: "Silences, by state.",
    labels: [{ name: "state", help: "State.", values: ["active", "pending", "expired"] }],
    resolution: 1,
  }),
  notifications: own("gpulse_notifications_total", {
    help: "Notifications since the start, by outcome; one that failed and was sent later counts in both.",
    labels: [
      { name: "channel", help: "Channel; none if the notification was suppressed." },
      { name: "outcome", help: "Outcome.", values: ["sent", "failed", "suppressed"] },
    ],
    resolution: 1,
  }),
  alertsSent: own("gpulse_alertmanager_alerts_sent_total", {
    help: "Alerts accepted by an external Alertmanager.",
    labels: [alertmanager],
    resolution: 1,
  }),
  alertsDropped: own("gpulse_alertmanager_alerts_dropped_total", {
    help: "Alerts that it rejected permanently, or that did not fit into the queue.",
    labels: [alertmanager],
    resolution: 1,
  }),
  alertsWaiting: own("gpulse_alertmanager_alerts_waiting", {
    help: "Alerts waiting to be sent to it.",
    labels: [alertmanager],
    resolution: 1,
  }),
  kernelLogReadable: own("gpulse_kernel_log_readable", {
    help: "1 while the kernel log is readable, 0 if access is denied or it does not exist.",
    resolution: 1,
  }),
  kernelLogLost: own("gpulse_kernel_log_lost_records_total", {
    help: "Kernel log records overwritten before they were read.",
  }),
  kernelLogFound: own("gpulse_kernel_log_found_lines_total", {
    help: "Kernel log lines about GPUs, by driver.",
    labels: [{ name: "vendor", help: "The vendor.", values: vendors }],
  }),
  kernelLogLines: own("gpulse_kernel_log_lines_total", {
    help: "Outcome: sent, rejected permanently, or dropped because the queue was full.",
    labels: [{ name: "outcome", help: "How.", values: ["sent", "refused", "dropped"] }],
  }),
  kernelLogWaiting: own("gpulse_kernel_log_waiting_lines", {
    help: "Lines waiting to be sent.",
    resolution: 1,
  }),
  kernelLogRetries: own("gpulse_kernel_log_retries_total", {
    help: "Failed sends of lines that are retried.",
  }),
  kernelLogUp: own("gpulse_kernel_log_success", {
    help: "1 while sending succeeds, 0 while it fails.",
    resolution: 1,
  }),
  jobsOpen: own("gpulse_jobs_open", { help: "Running jobs in the ledger.", resolution: 1 }),
  jobsUnclosedBooks: own("gpulse_jobs_unclosed_books", {
    help: "GPUs whose energy of today or yesterday is not fully covered by jobs, idle time and explained gaps.",
    resolution: 1,
  }),
  jobsJournalBytes: own("gpulse_jobs_journal_bytes", {
    help: "Size of the ledger's journal, which is read at the start.",
    resolution: 1,
  }),
  jobsFailures: own("gpulse_jobs_failures_total", {
    help: "Frames and scheduler reports that the job ledger could not store.",
    kind: "counter",
    resolution: 1,
  }),
  cpu: own("process_cpu_seconds_total", { help: "Processor time used, user and system." }),
  residentMemory: own("process_resident_memory_bytes", { help: "Resident memory." }),
  startTime: own("process_start_time_seconds", {
    help: "Start time of the process.",
    resolution: 0.001,
  }),
  openFiles: own("process_open_fds", { help: "Open file descriptors.", resolution: 1 }),
  // Metric names of prom-client, the usual Prometheus client for Node, which existing dashboards use.
  lagMean: own("nodejs_eventloop_lag_seconds", {
    help: "Lag of the event loop's timers, mean of the last window of at least 15 s.",
  }),
  lagP50: own("nodejs_eventloop_lag_p50_seconds", {
    help: "Lag of the event loop's timers, median.",
  }),
  lagP90: own("nodejs_eventloop_lag_p90_seconds", {
    help: "Lag of the event loop's timers, 90th percentile.",
  }),
  lagP99: own("nodejs_eventloop_lag_p99_seconds", {
    help: "Lag of the event loop's timers, 99th percentile.",
  }),
  lagMax: own("nodejs_eventloop_lag_max_seconds", {
    help: "Lag of the event loop's timers, maximum.",
  }),
  heapUsed: own("nodejs_heap_size_used_bytes", {
    help: "Bytes of JavaScript objects on the heap of the main thread.",
  }),
  heapTotal: own("nodejs_heap_size_total_bytes", {
    help: "Memory reserved for that heap.",
  }),
  heapLimit: own("nodejs_heap_size_limit_bytes", {
    help: "Heap limit: the process ends when it is exceeded. Set by --max-old-space-size.",
  }),
  external: own("nodejs_external_memory_bytes", {
    help: "Memory outside the heap held by its objects, such as buffers.",
  }),
  gcDuration: own("nodejs_gc_duration_seconds", {
    kind: "histogram",
    help: "Garbage collections of the main thread; a kind that has not occurred is absent.",
    labels: [
      {
        name: "kind",
        help: "Which collection.",
        values: ["minor", "major", "incremental", "weakcb"],
      },
    ],
    buckets: [0.01, 0.1, 1],
  }),
} as const;
