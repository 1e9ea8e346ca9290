// Measures a running stack at once: all values of the report, as numbers. Nothing here is estimated.

import { readdirSync, statSync } from "node:fs";
import { availableParallelism, loadavg, totalmem } from "node:os";
import path from "node:path";

import { boards } from "../../scripts/grafana/boards/index.ts";
import { type PanelAnswer, runPanels } from "../../scripts/grafana/live.ts";
import { activeAlerts, type Alert, Engine, mails, type Target, traces } from "./ask.ts";
import { findCategories, type FoundCategory } from "./categories.ts";
import { remoteControl } from "./control.ts";
import { type StackState, urlAt } from "./place.ts";
import type { Row } from "./table.ts";
import type { Trace } from "./traces/registry.ts";

const TRACED = ["gateway", "worker", "ml"] as const;

export interface EngineFigures {
  readonly name: string;
  readonly targets: readonly Target[];
  readonly names: number;
  readonly series: number | undefined;
  readonly pointsADay: number | undefined;
  readonly rules: number;
  readonly failing: readonly string[];
  readonly diskBytes: number;
  readonly queries: QueryFigures;
}

export interface QueryFigures {
  readonly queries: number;
  readonly empty: number;
  readonly errors: readonly string[];
  readonly meanMs: number;
  readonly medianMs: number;
  readonly p95Ms: number;
}

export interface Figures {
  readonly takenMs: number;
  readonly state: StackState;
  readonly rows: readonly Row[];
  readonly prometheus: EngineFigures;
  readonly hub: EngineFigures;
  readonly categories: readonly FoundCategory[];
  readonly dashboards: number;
  readonly panels: number;
  readonly gpus: number | undefined;
  readonly gpuUtilisation: number | undefined;
  readonly queueDepth: number | undefined;
  readonly p95Seconds: number | undefined;
  readonly p99Seconds: number | undefined;
  readonly requestsPerSecond: number | undefined;
  readonly trace: Trace | undefined;
  readonly alerts: readonly Alert[];
  readonly mails: number;
  readonly diskBytes: number;
  readonly machine: {
    readonly cores: number;
    readonly memoryBytes: number;
    readonly load: readonly number[];
  };
}

export async function measure(state: StackState): Promise<Figures> {
  const url = (name: keyof StackState["ports"]): string => urlAt(state.ports[name]);
  const [prometheus, hub] = [new Engine(url("prometheus")), new Engine(url("hub"))];
  const rows = await remoteControl(state).rows();
  const runs = (name: string): boolean =>
    rows.some((row) => row.name === name && row.state === "healthy");
  const orNothing = async <T>(name: string, work: () => Promise<T>): Promise<T | undefined> =>
    runs(name) ? work() : undefined;
  // Uses the second round: the first also opens connections and fills caches of both.
  const asked = { prometheusUrl: prometheus.url, hubUrl: hub.url };
  await runPanels(asked);
  const answers = await runPanels(asked);
  const found = await orNothing("traces", () => traces(url("traces"), TRACED));
  return {
    takenMs: Date.now(),
    state,
    rows,
    prometheus: await figuresOf(state, "prometheus", prometheus, answers),
    hub: await figuresOf(state, "hub", hub, answers),
    categories: await findCategories(prometheus),
    dashboards: boards.length,
    panels: boards.flatMap((board) => board.rows.flatMap((row) => row.panels)).length,
    gpus: await prometheus.number("count(gpu_up == 1)"),
    gpuUtilisation: await prometheus.number("avg(avg_over_time(gpu_utilization_ratio[15m]))"),
    queueDepth: await prometheus.number("sum(gateway_queue_depth)"),
    p95Seconds: await prometheus.number(quantile(0.95)),
    p99Seconds: await prometheus.number(quantile(0.99)),
    requestsPerSecond: await prometheus.number("sum(rate(gateway_http_requests_total[5m]))"),
    trace: found?.traces[0],
    alerts: (await orNothing("alertmanager", () => activeAlerts(url("alertmanager")))) ?? [],
    mails: (await orNothing("mailbox", () => mails(url("mailbox"))))?.length ?? 0,
    diskBytes: sizeOf(state.dataDir),
    machine: { cores: availableParallelism(), memoryBytes: totalmem(), load: loadavg() },
  };
}

const quantile = (share: number): string =>
  `histogram_quantile(${share}, sum by (le) (rate(gateway_http_request_duration_seconds_bucket{route="/v1/completions"}[5m])))`;

const APPENDED = {
  prometheus: "sum(rate(prometheus_tsdb_head_samples_appended_total[5m]))",
  hub: 'sum(rate(gpulse_received_samples_total{job="hub",outcome="stored"}[5m]))',
} as const;

async function figuresOf(
  state: StackState,
  name: "prometheus" | "hub",
  engine: Engine,
  answers: readonly PanelAnswer[],
): Promise<EngineFigures> {
  const perSecond = await engine.number(APPENDED[name]);
  const { rules, failing } = await engine.ruleCount();
  return {
    name,
    targets: await engine.targets(),
    names: (await engine.names()).length,
    series: await engine.number('count({__name__!=""})'),
    pointsADay: perSecond === undefined ? undefined : perSecond * 86_400,
    rules,
    failing,
    diskBytes: sizeOf(path.join(state.dataDir, name)),
    queries: queryFigures(answers.filter((answer) => answer.engine === name)),
  };
}

function queryFigures(answers: readonly PanelAnswer[]): QueryFigures {
  const asked = answers.filter(({ panel }) => !panel.startsWith("$"));
  const times = asked.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  const nth = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return {
    queries: asked.length,
    empty: asked.filter(({ series, error }) => series === 0 && error === undefined).length,
    errors: asked.flatMap(({ dashboard, panel, error }) =>
      error === undefined ? [] : [`${dashboard}, ${panel}: ${error}`],
    ),
    meanMs: times.reduce((sum, one) => sum + one, 0) / Math.max(1, times.length),
    medianMs: nth(0.5),
    p95Ms: nth(0.95),
  };
}

/** Files that disappear while counting count as nothing. */
function sizeOf(place: string): number {
  try {
    const stat = statSync(place);
    if (!stat.isDirectory()) return stat.blocks * 512;
    return readdirSync(place).reduce((sum, name) => sum + sizeOf(path.join(place, name)), 0);
  } catch {
    return 0;
  }
}
