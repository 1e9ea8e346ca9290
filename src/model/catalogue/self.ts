/** Self-metrics: duration and success per source, losses per sink, and the process itself. */
import type { LabelSpec } from "./entry.ts";
import { own, storageSelf } from "./self-storage.ts";
import { vendors } from "../vendor.ts";

const source: LabelSpec = { name: "source", help: "The source's name." };
const tier: LabelSpec = {
  name: "tier",
  help: "Which schedule.",
  values: ["fast", "slow", "static", "stream"],
};
const agent: LabelSpec = { name: "agent", help: "The agent's name: its instance." };
const sink: LabelSpec = { name: "sink", help: "The sink's name." };
const alertmanager: LabelSpec = { name: "alertmanager", help: "Where its alerts are posted to." };
const ruleGroup: LabelSpec = { name: "rule_group", help: "The group's file and name." };

export const self = {
  buildInfo: own("gpulse_build_info", {
    help: "The running program; the value is always 1.",
    labels: [
      { name: "version", help: "Version of gpulse." },
      { name: "revision", help: "Commit it was built from." },
      { name: "node", help: "Version of Node." },
    ],
  }),
  sourceUp: own("gpulse_source_success", {
    help: "1 when the last read was good, 0 when it failed, was late or gave something unusable.",
    labels: [source, tier],
    resolution: 1,
  }),
  sourceDuration: own("gpulse_source_read_duration_seconds", {
    help: "How long the last read that ended took.",
    labels: [source, tier],
  }),
  sourceLastSuccess: own("gpulse_source_last_success_timestamp_seconds", {
    help: "When a read last succeeded.",
    labels: [source, tier],
  }),
  sourceReads: own("gpulse_source_reads_total", {
    help: "Reads by outcome: late passed the deadline, invalid gave no usable frame.",
    labels: [
      source,
      tier,
      { name: "outcome", help: "How it ended.", values: ["ok", "failed", "late", "invalid"] },
    ],
  }),
  sourceSkipped: own("gpulse_source_skipped_ticks_total", {
    help: "Ticks left out because the read before was still running or the process was late.",
    labels: [source, tier],
  }),
  sourceRejectedRows: own("gpulse_source_rejected_rows_total", {
    help: "Rows of the source's input that could not be used, such as those of a GPU-Z log with more or fewer cells than its header.",
    labels: [source],
  }),
  readingsRejected: own("gpulse_readings_rejected_total", {
    help: "Readings that a source returned and that cannot be true; they are reported as absent. The log names GPU, metric and value once.",
    labels: [
      source,
      { name: "metric", help: "The catalogue metric; other where it is not one." },
      {
        name: "reason",
        help: "Outside the metric's plausible range, a value that drivers write for unknown, or no number.",
        values: ["out_of_range", "sentinel", "not_a_number"],
      },
    ],
    resolution: 1,
  }),
  sourceRestarts: own("gpulse_source_process_restarts_total", {
    help: "Times that the process a source reads through ended by itself, such as by a crash in the driver's library, and was started again.",
    labels: [source],
    resolution: 1,
  }),
  sourceProcessCpu: own("gpulse_source_process_cpu_seconds_total", {
    help: "Processor time of the process a source reads through, since its start; not part of process_cpu_seconds_total.",
    labels: [source],
  }),
  sourceProcessMemory: own("gpulse_source_process_resident_memory_bytes", {
    help: "Resident memory of the process a source reads through. It shares the program's own pages with this one.",
    labels: [source],
  }),
  sourceReadings: own("gpulse_source_readings", {
    help: "Readings in the last frame by presence; absent ones are left out of the page, and counted here with their reason.",
    labels: [
      source,
      tier,
      {
        name: "state",
        help: "Why it is there or not.",
        values: ["present", "unsupported", "denied", "asleep", "failed", "pending"],
      },
    ],
    resolution: 1,
  }),
  frameAge: own("gpulse_frame_age_seconds", {
    help: "Age of the values on this page, by source and tier, when the page was asked for.",
    labels: [source, tier],
    resolution: 0.001,
  }),
  sinkFrames: own("gpulse_sink_frames_total", {
    help: "Frames handed to the sink.",
    labels: [sink],
  }),
  sinkDropped: own("gpulse_sink_dropped_frames_total", {
    help: "Frames lost because the sink's queue was full; the oldest go first.",
    labels: [sink],
  }),
  sinkFailures: own("gpulse_sink_failures_total", {
    help: "Frames the sink refused with an error.",
    labels: [sink],
  }),
  pipeFrames: own("gpulse_pipe_frames_total", {
    help: "Frames that came out of a source of the pipe and into every sink.",
    labels: [source],
  }),
  pipeLag: own("gpulse_pipe_lag_seconds", {
    help: "Age of the newest frame of the source when its sinks had taken it; what is replayed with its own times is as old as it is.",
    labels: [source],
    resolution: 0.001,
  }),
  pipeLagRecords: own("gpulse_pipe_lag_records", {
    help: "Records of a log that are still to be read by the pipe, as it last heard.",
    labels: [
      source,
      { name: "log", help: "The topic." },
      { name: "partition", help: "Its partition." },
    ],
    resolution: 1,
  }),
  pipeDeadLetters: own("gpulse_pipe_dead_letters_total", {
    help: "Input that could never become a frame, by what became of it: kept by a sink or in a topic, or only counted here.",
    labels: [source, { name: "outcome", help: "Where it went.", values: ["kept", "counted"] }],
  }),
  pipeCheckpoints: own("gpulse_pipe_checkpoints_total", {
    help: "Times that every sink held everything and the sources were acknowledged.",
  }),
  pipeLastCheckpoint: own("gpulse_pipe_last_checkpoint_timestamp_seconds", {
    help: "When that last was.",
  }),
  pipeCheckpointDuration: own("gpulse_pipe_checkpoint_duration_seconds", {
    help: "How long the last one took; while it runs nothing is read.",
  }),
  pipeUncommitted: own("gpulse_pipe_uncommitted_frames", {
    help: "Frames since the last checkpoint: what is read again after a kill.",
    resolution: 1,
  }),
  pipeLate: own("gpulse_pipe_late_frames_total", {
    help: "Frames that came after their window had been given: they went on, and are in no window.",
  }),
  spoolBytes: own("gpulse_spool_bytes", {
    help: "What waits on disk to be sent by the sink.",
    labels: [sink],
  }),
  spoolRecords: own("gpulse_spool_records", {
    help: "Records that wait on disk to be sent by the sink.",
    labels: [sink],
    resolution: 1,
  }),
  spoolDropped: own("gpulse_spool_dropped_samples_total", {
    help: "Samples lost on their way out, by why: the spool's bound in bytes or in age, a full disk, or damage.",
    labels: [sink, { name: "reason", help: "Why.", values: ["full", "old", "disk", "damaged"] }],
  }),
  shipSamples: own("gpulse_ship_samples_total", {
    help: "Samples a receiver has answered for: taken, or refused for good.",
    labels: [sink, { name: "outcome", help: "How.", values: ["sent", "refused"] }],
  }),
  shipRetries: own("gpulse_ship_retries_total", {
    help: "Times that sending failed and is tried again.",
    labels: [sink],
  }),
  shipLag: own("gpulse_ship_lag_seconds", {
    help: "How long the oldest that waits to be sent has been waiting; 0 when nothing does.",
    labels: [sink],
    resolution: 0.001,
  }),
  shipUp: own("gpulse_ship_success", {
    help: "1 while what is sent is taken, 0 while sending fails.",
    labels: [sink],
    resolution: 1,
  }),
  shipClockDifference: own("gpulse_ship_clock_difference_seconds", {
    help: "How far this machine's clock is ahead of the hub's that the sink pushes to; negative where it is behind.",
    labels: [sink],
    resolution: 0.001,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
  }),
  shipRestamped: own("gpulse_ship_restamped_samples_total", {
    help: "Samples that were stamped while this machine's clock was wrong, and sent with the corrected time.",
    labels: [sink],
  }),
  ...storageSelf,
  exporterGpus: own("gpulse_exporter_gpus", {
    help: "GPUs that exporters report now, scraped or pushed, and that are shown and stored like those of an agent.",
    labels: [
      { name: "exporter", help: "Whose names the series have; `gpulse` for a scraped agent." },
    ],
  }),
  exporterIgnored: own("gpulse_exporter_ignored_series_total", {
    help: "Series of exporters' GPUs that are not read as GPUs because a limit is reached: 1,024 GPUs on one target, 100,000 in all, or 1,000,000 samples that wait to be put together.",
    labels: [{ name: "path", help: "How they came.", values: ["scrape", "push"] }],
  }),
  agents: own("gpulse_agents", {
    help: "Agents that push to this hub, by how they stand.",
    labels: [
      {
        name: "state",
        help: "ok, late (its frames come late), silent (nothing comes), stopped (it said so).",
        values: ["ok", "late", "silent", "stopped"],
      },
    ],
    resolution: 1,
  }),
  uuidConflicts: own("gpulse_hub_uuid_conflicts", {
    help: "GPU uuids that several hosts or agents report at the same time. GPUs of different hosts stay apart by `host`.",
    resolution: 1,
  }),
  agentUp: own("gpulse_agent_up", {
    help: "1 while the agent pushes, 0 when it has fallen silent; absent once it stopped on purpose.",
    labels: [agent],
    resolution: 1,
  }),
  agentLastSeen: own("gpulse_agent_last_seen_timestamp_seconds", {
    help: "When the agent was last heard.",
    labels: [agent],
  }),
  agentLag: own("gpulse_agent_lag_seconds", {
    help: "Age of the agent's newest frame when it came in.",
    labels: [agent],
    resolution: 0.001,
  }),
  agentClockDifference: own("gpulse_agent_clock_difference_seconds", {
    help: "How far the agent's clock is behind the hub's; negative where it is ahead.",
    labels: [agent],
    resolution: 0.001,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
  }),
  agentSpoolBytes: own("gpulse_agent_spool_bytes", {
    help: "What waits in the agent's spool, as it last reported.",
    labels: [agent],
  }),
  accessRefused: own("gpulse_access_refused_total", {
    help: "Requests to the hub that were refused for who sent them.",
    labels: [
      {
        name: "reason",
        help: "No credentials, wrong ones, a scope that is too small, or too many attempts.",
        values: ["missing", "unknown", "revoked", "expired", "password", "scope", "too-many"],
      },
    ],
    resolution: 1,
  }),
  certificateExpiry: own("gpulse_tls_certificate_expiry_timestamp_seconds", {
    help: "When the certificate the hub serves ends; absent without TLS.",
    resolution: 1,
  }),
  rulesReloaded: own("gpulse_config_last_reload_successful", {
    help: "1 when rules and routing were last read without a mistake, 0 when those before stay in use.",
    resolution: 1,
  }),
  rulesReloadTime: own("gpulse_config_last_reload_success_timestamp_seconds", {
    help: "When rules and routing were last read without a mistake.",
  }),
  ruleAlerts: own("gpulse_rule_alerts", {
    help: "Alerts of the hub's own rules, by state.",
    labels: [{ name: "state", help: "How it stands.", values: ["pending", "firing"] }],
    resolution: 1,
  }),
  ruleGroupInterval: own("gpulse_rule_group_interval_seconds", {
    help: "How often the group is evaluated.",
    labels: [ruleGroup],
  }),
  ruleGroupDuration: own("gpulse_rule_group_last_duration_seconds", {
    help: "How long the group's last evaluation took.",
    labels: [ruleGroup],
  }),
  ruleGroupMissed: own("gpulse_rule_group_iterations_missed_total", {
    help: "Evaluations left out because the one before took too long.",
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
    help: "Alerts that the hub routes, by state.",
    labels: [{ name: "state", help: "How it stands.", values: ["active", "suppressed"] }],
    resolution: 1,
  }),
  silences: own("gpulse_silences", {
    help: "Silences, by state.",
    labels: [{ name: "state", help: "How it stands.", values: ["active", "pending", "expired"] }],
    resolution: 1,
  }),
  notifications: own("gpulse_notifications_total", {
    help: "Notifications since the start, by what became of them; what failed and was sent later is in both.",
    labels: [
      { name: "channel", help: "By what it was to go; none where it was suppressed." },
      { name: "outcome", help: "What became of it.", values: ["sent", "failed", "suppressed"] },
    ],
    resolution: 1,
  }),
  alertsSent: own("gpulse_alertmanager_alerts_sent_total", {
    help: "Alerts that an Alertmanager elsewhere has taken.",
    labels: [alertmanager],
    resolution: 1,
  }),
  alertsDropped: own("gpulse_alertmanager_alerts_dropped_total", {
    help: "Alerts that it refused for good, or that found no room to wait.",
    labels: [alertmanager],
    resolution: 1,
  }),
  alertsWaiting: own("gpulse_alertmanager_alerts_waiting", {
    help: "Alerts that wait to be sent to it.",
    labels: [alertmanager],
    resolution: 1,
  }),
  kernelLogReadable: own("gpulse_kernel_log_readable", {
    help: "1 while the kernel's log is open to us, 0 while it is denied or not there.",
    resolution: 1,
  }),
  kernelLogLost: own("gpulse_kernel_log_lost_records_total", {
    help: "Records that the kernel wrote over before they were read.",
  }),
  kernelLogFound: own("gpulse_kernel_log_found_lines_total", {
    help: "Lines of the kernel that are about GPUs, by whose driver they are.",
    labels: [{ name: "vendor", help: "The vendor.", values: vendors }],
  }),
  kernelLogLines: own("gpulse_kernel_log_lines_total", {
    help: "What became of them: sent, refused for good, or dropped for want of room to wait.",
    labels: [{ name: "outcome", help: "How.", values: ["sent", "refused", "dropped"] }],
  }),
  kernelLogWaiting: own("gpulse_kernel_log_waiting_lines", {
    help: "Lines that wait to be sent.",
    resolution: 1,
  }),
  kernelLogRetries: own("gpulse_kernel_log_retries_total", {
    help: "Times that sending them failed and is tried again.",
  }),
  kernelLogUp: own("gpulse_kernel_log_success", {
    help: "1 while what is sent is taken, 0 while sending fails.",
    resolution: 1,
  }),
  jobsOpen: own("gpulse_jobs_open", { help: "Jobs that the ledger sees running.", resolution: 1 }),
  jobsUnclosedBooks: own("gpulse_jobs_unclosed_books", {
    help: "GPUs whose energy of today or yesterday is not fully accounted for by jobs, idleness and explained gaps.",
    resolution: 1,
  }),
  jobsJournalBytes: own("gpulse_jobs_journal_bytes", {
    help: "Size of the ledger's journal, which a start has to read.",
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
    help: "When the process started.",
    resolution: 0.001,
  }),
  openFiles: own("process_open_fds", { help: "Open file descriptors.", resolution: 1 }),
  // Metric names of prom-client, the usual Prometheus client for Node, which existing dashboards use.
  lagMean: own("nodejs_eventloop_lag_seconds", {
    help: "How late the event loop ran its timers, the mean of the last window of at least 15 s.",
  }),
  lagP50: own("nodejs_eventloop_lag_p50_seconds", { help: "The same, the median." }),
  lagP90: own("nodejs_eventloop_lag_p90_seconds", { help: "The same, the 90th percentile." }),
  lagP99: own("nodejs_eventloop_lag_p99_seconds", { help: "The same, the 99th percentile." }),
  lagMax: own("nodejs_eventloop_lag_max_seconds", { help: "The same, the longest." }),
  heapUsed: own("nodejs_heap_size_used_bytes", {
    help: "JavaScript objects on the heap of the main thread.",
  }),
  heapTotal: own("nodejs_heap_size_total_bytes", {
    help: "Memory reserved for that heap.",
  }),
  heapLimit: own("nodejs_heap_size_limit_bytes", {
    help: "The most that heap may take: beyond it the process ends. Set by --max-old-space-size.",
  }),
  external: own("nodejs_external_memory_bytes", {
    help: "Memory outside the heap that its objects hold, such as buffers.",
  }),
  gcDuration: own("nodejs_gc_duration_seconds", {
    kind: "histogram",
    help: "Garbage collections of the main thread; a kind that has not happened is absent.",
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
