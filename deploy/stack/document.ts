// The report as Markdown: only measured values, with how they were measured, beside the needs of a comparable setup.

import type { EngineFigures, Figures } from "./measure.ts";
import { megabytes, spell } from "./table.ts";

/** The stated needs of the 14-container setup that this stack replaces. */
const REFERENCE = {
  names: 1_145,
  targets: 9,
  queryMs: 40,
  memoryBytes: 520e6,
  pointsADay: 5.7e6,
  gpuUtilisation: 0.57,
} as const;

const OURS = ["agent", "hub"] as const;
const PEERS = ["prometheus", "alertmanager", "node"] as const;

export function document(figures: Figures): string {
  return [
    `# The stack, ${new Date(figures.takenMs).toISOString()}`,
    overview(figures),
    targets(figures),
    queries(figures),
    memory(figures),
    categories(figures),
    trace(figures),
    alerts(figures),
    commands(figures),
  ].join("\n\n");
}

type Cell = string | number | undefined;

function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]): string =>
    `| ${head.map((_, index) => String(cells[index] ?? "–").replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

const whole = (value: number | undefined): string | undefined =>
  value === undefined ? undefined : Math.round(value).toLocaleString("en");
const millions = (value: number | undefined): string | undefined =>
  value === undefined ? undefined : `${(value / 1e6).toFixed(1)} million`;
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;
const percent = (share: number | undefined): string | undefined =>
  share === undefined ? undefined : `${(share * 100).toFixed(0)} %`;
const seconds = (value: number | undefined): string | undefined =>
  value === undefined ? undefined : `${(value * 1000).toFixed(0)} ms`;
const upOf = ({ targets: list }: EngineFigures): string =>
  `${list.filter(({ health }) => health === "up").length} of ${list.length}`;

function memoryOf(figures: Figures, names: readonly string[]): number {
  return figures.rows
    .filter(({ name }) => names.includes(name))
    .reduce((sum, { usage }) => sum + (usage?.pssBytes ?? 0), 0);
}

function overview(figures: Figures): string {
  const { prometheus, hub, rows, state, machine } = figures;
  const all = rows.map(({ name }) => name);
  const restarts = rows.reduce((sum, row) => sum + row.restarts, 0);
  return table(
    ["", "hub", "Prometheus", "the reference setup"],
    [
      ["targets up", upOf(hub), upOf(prometheus), `${REFERENCE.targets} of ${REFERENCE.targets}`],
      ["unique metric names", whole(hub.names), whole(prometheus.names), whole(REFERENCE.names)],
      ["series", whole(hub.series), whole(prometheus.series)],
      [
        "points a day, at this minute's rate",
        millions(hub.pointsADay),
        millions(prometheus.pointsADay),
        millions(REFERENCE.pointsADay),
      ],
      ["rules", hub.rules, prometheus.rules],
      [
        "mean time of a dashboard's query",
        milliseconds(hub.queries.meanMs),
        milliseconds(prometheus.queries.meanMs),
        `${REFERENCE.queryMs} ms`,
      ],
      ["disk", megabytes(hub.diskBytes), megabytes(prometheus.diskBytes)],
      [
        "all processes, PSS",
        megabytes(memoryOf(figures, all)),
        "",
        megabytes(REFERENCE.memoryBytes),
      ],
    ],
  ).concat(
    "\n\n",
    [
      `Up for ${spell(figures.takenMs - state.startedMs)}, ${restarts} restarts; ${rows.filter((row) => row.state === "healthy").length} services healthy${skipped(figures)}.`,
      `Data folder ${megabytes(figures.diskBytes)}. Machine: ${machine.cores} cores, ${megabytes(machine.memoryBytes)}, load ${machine.load.map((one) => one.toFixed(2)).join(" ")}.`,
      `${figures.dashboards} dashboards with ${figures.panels} panels. ${figures.gpus ?? "no"} simulated GPUs, ${percent(figures.gpuUtilisation) ?? "unknown"} busy on average over 15 minutes (reference ${percent(REFERENCE.gpuUtilisation)}).`,
      `Gateway: ${figures.requestsPerSecond?.toFixed(1) ?? "–"} requests/s, p95 ${seconds(figures.p95Seconds) ?? "–"}, p99 ${seconds(figures.p99Seconds) ?? "–"}, queue depth ${figures.queueDepth ?? "–"}.`,
    ].join("\n"),
  );
}

function skipped({ rows }: Figures): string {
  const list = rows.filter(({ state }) => state === "skipped");
  return list.length === 0
    ? ""
    : `; not run: ${list.map(({ name, lastWord }) => `${name} (${lastWord})`).join(", ")}`;
}

function targets({ prometheus, hub }: Figures): string {
  const inHub = new Map(hub.targets.map((target) => [`${target.job} ${target.url}`, target]));
  return `## Targets\n\n${table(
    ["job", "address", "Prometheus", "hub", "error"],
    prometheus.targets.map(({ job, url, health, lastError }) => {
      const other = inHub.get(`${job} ${url}`);
      return [job, url, health, other?.health, lastError || other?.lastError || ""];
    }),
  )}`;
}

function queries({ prometheus, hub }: Figures): string {
  const row = (name: string, { queries: of }: EngineFigures): readonly Cell[] => [
    name,
    of.queries,
    of.empty,
    of.errors.length,
    milliseconds(of.meanMs),
    milliseconds(of.medianMs),
    milliseconds(of.p95Ms),
  ];
  const errors = [...hub.queries.errors, ...prometheus.queries.errors];
  return [
    "## The dashboards' own queries",
    "Each query of each panel, one after the other over HTTP as Grafana sends them, the last 15 minutes in steps of 15 s, the second of two rounds.",
    table(
      ["engine", "queries", "without data", "errors", "mean", "median", "p95"],
      [row("gpulse hub", hub), row("Prometheus", prometheus)],
    ),
    ...(errors.length === 0 ? [] : [errors.map((one) => `- ${one}`).join("\n")]),
  ].join("\n\n");
}

function memory(figures: Figures): string {
  const rows = figures.rows.filter(({ usage }) => usage !== undefined);
  const [ours, peers] = [memoryOf(figures, OURS), memoryOf(figures, PEERS)];
  return [
    "## Memory, processor, files",
    `gpulse agent + hub: **${megabytes(ours)}**; Prometheus + Alertmanager + node exporter on the same data in the same run: **${megabytes(peers)}** (ratio ${(ours / peers).toFixed(2)}). PSS, from /proc/PID/smaps_rollup, children included.`,
    table(
      ["service", "state", "up", "restarts", "PSS", "share of a core", "open files", "processes"],
      rows.map(({ name, state, startedMs, restarts, usage }) => {
        const ranMs = startedMs === undefined ? undefined : figures.takenMs - startedMs;
        return [
          name,
          state,
          ranMs === undefined ? undefined : spell(ranMs),
          restarts,
          usage === undefined ? undefined : megabytes(usage.pssBytes),
          usage === undefined || ranMs === undefined
            ? undefined
            : `${((usage.cpuSeconds / (ranMs / 1000)) * 100).toFixed(1)} %`,
          usage?.openFiles,
          usage?.processes,
        ];
      }),
    ),
  ].join("\n\n");
}

function categories({ categories: list }: Figures): string {
  const missing = list.filter(({ series }) => series === 0);
  return [
    "## Every kind of metric, by name",
    table(
      ["of", "kind", "series that give it", "how many", "one of them now"],
      list.map(({ group, name, expression, series, example }) => [
        group,
        name,
        expression === undefined ? "**missing**" : `\`${expression}\``,
        series,
        example === undefined ? undefined : Number(example.toPrecision(4)),
      ]),
    ),
    missing.length === 0
      ? `All ${list.length} are there.`
      : `Missing: ${missing.map(({ group, name }) => `${group} ${name}`).join(", ")}.`,
  ].join("\n\n");
}

function trace({ trace: found }: Figures): string {
  if (found === undefined)
    return "## One request\n\nNo trace across gateway, worker and ml was seen.";
  const startMs = Math.min(...found.spans.map((span) => span.startMs));
  return [
    "## One request, from the gateway through the queue and the worker to the model server",
    `Trace \`${found.traceId}\`, as the OTLP receiver got it.`,
    table(
      ["service", "span", "begins after", "takes"],
      found.spans.map((span) => [
        span.service,
        span.name,
        milliseconds(span.startMs - startMs),
        milliseconds(span.durationMs),
      ]),
    ),
  ].join("\n\n");
}

function alerts({ alerts: list, mails, prometheus, hub }: Figures): string {
  const failing = [...prometheus.failing, ...hub.failing];
  const counts = new Map<string, number>();
  for (const { name } of list) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [
    "## Alerts",
    counts.size === 0 ? "Alertmanager holds none." : table(["alert", "how many"], [...counts]),
    `${mails} mails in the mailbox. ${failing.length === 0 ? "No rule fails to evaluate." : `Rules that fail: ${failing.join("; ")}`}`,
  ].join("\n\n");
}

function commands({ state }: Figures): string {
  const hub = `http://127.0.0.1:${state.ports.hub}`;
  return [
    "## How to ask again",
    "```sh",
    "npm run stack -- report",
    `curl '${hub}/api/v1/targets'                            # the same of Prometheus, port ${state.ports.prometheus}`,
    `curl '${hub}/api/v1/label/__name__/values'              # unique metric names`,
    `grep ^Pss: /proc/PID/smaps_rollup                       # memory of a process`,
    `curl 'http://127.0.0.1:${state.ports.traces}/traces?services=gateway,worker,ml'`,
    "```",
    "",
  ].join("\n");
}
