// The commands of README and docs that the docs test does not run, each with the reason and the test that covers it.

export interface UnrunCommand {
  readonly pattern: RegExp;
  readonly reason: string;
  /** The test that runs the command or its equivalent. */
  readonly testedBy?: string;
}

const engine = (pattern: RegExp, name: string, testedBy: string): UnrunCommand => ({
  pattern,
  reason: `needs ${name}`,
  testedBy,
});

export const UNRUN: readonly UnrunCommand[] = [
  engine(/kafka:\/\//, "a Kafka broker", "test/engines/kafka.test.ts"),
  engine(/webhdfs:\/\/|hdfs:\/\//, "HDFS", "test/engines/lake.test.ts"),
  engine(/s3:\/\//, "S3", "test/engines/lake.test.ts"),
  engine(/influxdb(?:\+http)?:\/\//, "InfluxDB", "test/engines/influxdb.test.ts"),
  engine(/clickhouse:\/\//, "ClickHouse", "test/engines/clickhouse.test.ts"),
  engine(/cloudwatch:/, "a cloud account", "test/engines/cloudwatch.full.test.ts"),
  engine(/mqtt:\/\//, "an MQTT broker", "test/engines/mqtt.test.ts"),
  engine(/--prometheus http:/, "a Prometheus", "test/engines/exporters.test.ts"),
  engine(/prometheus\+http:\/\//, "a Prometheus", "test/engines/import.test.ts"),
  engine(/^promtool /, "promtool", "test/engines/promql-remote.test.ts"),
  engine(/^spark-submit /, "Spark", "test/engines/spark-stream.test.ts"),
  engine(/^docker |^kind /, "Docker", "test/engines/deploy-compose.test.ts"),
  engine(/deploy\/compose|\.env\.example/, "Docker", "test/engines/deploy-compose.test.ts"),
  engine(/^kubectl |^helm /, "a Kubernetes cluster", "test/engines/deploy-helm.test.ts"),
  engine(/^(?:cd deploy\/|\$\()?terraform/, "a cloud account", "test/deploy/terraform.test.ts"),
  engine(/^(?:aws|gcloud) /, "a cloud account", "test/deploy/terraform-start-up.test.ts"),
  engine(
    /^(?:dd|SLURM_JWT=\w+ slurmrestd|scontrol) /,
    "Slurm's daemons",
    "test/engines/slurm-rest.test.ts",
  ),
  engine(
    /^export (?:WANDB|MLFLOW)_RUN_ID=|^python train\.py$/,
    "wandb, mlflow and a training script",
    "test/nvml-stub/jobs.test.ts",
  ),
  engine(/^sudo /, "root and systemd", "test/deploy/systemd.test.ts"),
  engine(/^(?:systemctl|journalctl|install) /, "systemd", "test/deploy/systemd.test.ts"),
  engine(
    /metrics \| grep gpu_up$/,
    "the service that systemd started",
    "test/deploy/systemd.test.ts",
  ),
  engine(/^gpulse explain /, "a hub with GPUs of these names", "src/cli/explain/explain.test.ts"),
  engine(/^gpulse health --url /, "a running agent or hub", "src/hub/health/health.test.ts"),
  engine(/^gpulse analyze jobs_/, "a hub's lake with jobs", "src/hub/jobs/lake-table.test.ts"),
  engine(
    /--held-idle /,
    "a policy file and a mail server",
    "src/hub/jobs/held-idle/held-idle.test.ts",
  ),
  engine(
    /^gpulse jobs (list|show|report|bill|idle|export|forget)/,
    "a running hub with jobs",
    "src/hub/jobs/jobs.test.ts",
  ),
  engine(/^gpulse ask /, "a running hub", "test/hub/mcp.test.ts"),
  engine(/^claude mcp /, "an MCP client", "test/hub/mcp.test.ts"),
  engine(/9410\/mcp /, "a running hub", "test/hub/mcp.test.ts"),
  engine(/^vllm /, "vLLM and a GPU", "test/engines/vllm.test.ts"),
  engine(/^npm (?:pack|install)\b/, "a global installation", "test/package/package.test.ts"),
  engine(/^npm run single-file/, "minutes of building", "test/engines/single-file.test.ts"),
  engine(/npm run release/, "a clean commit and a signing key", "test/engines/release.test.ts"),
  engine(/^ssh-keygen |^sha256sum /, "a signed release", "test/engines/release.test.ts"),
  engine(/^npm run stack/, "the engines of the whole stack", "test/engines/stack.test.ts"),
  engine(/deploy\/demo-app\//, "PostgreSQL and Redis", "test/engines/app.test.ts"),
  engine(/idle-queue/, "an idle GPU for five minutes", "test/engines/idle.test.ts"),
  engine(
    / --gpu UUID| --host node-1 |=old-\*|[\s/]a(?:-\*)?\.gpulserun|mabc-/,
    "your own GPUs and runs",
    "src/cli/compare/compare.test.ts",
  ),
  engine(/^gpulse import (?:power|old)\.csv/, "your own exports", "src/cli/import/import.test.ts"),
  engine(/^gpulse check/, "a free NVIDIA GPU", "test/nvml-stub/check.test.ts"),
  engine(/^gpulse stress /, "minutes of load", "test/cli/json.test.ts"),
  engine(/^gpulse pipe -f /, "a Kafka broker", "test/engines/pipeline-file.test.ts"),
  engine(
    / --from (?:otlp|remote-write)\+http/,
    "a program that sends",
    "test/engines/receivers-clients.test.ts",
  ),
  engine(
    /pipe .*otlp\+http:\/\/collector/,
    "an OpenTelemetry collector",
    "test/engines/forward.test.ts",
  ),
  engine(/^gpulse alerts test/, "a mail server", "src/hub/alerts/apis.test.ts"),
  engine(/^gpulse top(?!.*--once)/, "a terminal", "test/top/tmux.test.ts"),
  engine(/^curl .*:800\d\/|DATABASE_URL=/, "the demo app", "test/engines/app.test.ts"),
  engine(/^npm run fuzz/, "minutes of fuzzing", "test/fuzz/inventory.test.ts"),
  engine(/^npm run sim:compare/, "the sources", "bench/sim-compare/trace.test.ts"),
  engine(
    /^npm (?:start +# set up|test|run (?:test|check|docs|bench|build))/,
    "the sources",
    "test/docs/contributing.test.ts",
  ),
  engine(/^for name in GRAFANA_PASSWORD/, "the .env of compose", "test/deploy/compose.test.ts"),
  engine(/^rm my\.env/, "a cloud account", "test/deploy/terraform-start-up.test.ts"),
  { pattern: / --push http:\/\/ADDRESS:/, reason: "needs a machine in the cloud" },
  { pattern: /^(?:scp|ssh) /, reason: "needs another machine" },
  { pattern: /^git (?:clone|pull|archive) /, reason: "needs a remote repository" },
  { pattern: /mpirun|torch|rocblas|glmark2/, reason: "needs a real GPU and its tools" },
  engine(/^gpulse run .*--measure-phase/, "a training program", "src/cli/run/run.test.ts"),
  engine(/^gpulse run .*--repeats/, "a benchmark program", "src/cli/run/run.test.ts"),
  engine(/run_loadgen\.py|gpulse runs mlperf/, "MLPerf LoadGen", "test/engines/loadgen.test.ts"),
];

/** Why a command is not run; undefined if the docs test has to run it. */
export function unrunReason(command: string): string | undefined {
  return UNRUN.find(({ pattern }) => pattern.test(command))?.reason;
}
