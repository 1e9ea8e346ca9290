/** Runs every query of every panel against running engines, as Grafana would, and returns the results. The caller judges them. */
import { boards } from "./boards/index.ts";
import { askInflux, type InfluxOptions, PromEngine, type Range } from "./engine.ts";
import { gpuzBoard } from "./influxdb.ts";
import { asksForNow } from "./render.ts";
import type { Board, Panel } from "./shape.ts";
import { resolve, substitute, type Values } from "./variables.ts";

export interface LiveOptions {
  readonly prometheusUrl?: string;
  readonly hubUrl?: string;
  /** InfluxDB 1 with data of the preset gpuz, and the time range of that data. */
  readonly influx?: InfluxOptions & { readonly startMs: number; readonly endMs: number };
  /** Only the dashboards with these uids. */
  readonly uids?: readonly string[];
  /** The length of the queried time range, which ends now. */
  readonly rangeSeconds?: number;
  /** Grafana's `$__rate_interval`: four times the slowest scrape. */
  readonly rateIntervalSeconds?: number;
  readonly nowMs?: () => number;
}

export type EngineName = "prometheus" | "hub" | "influxdb";

export interface PanelAnswer {
  readonly dashboard: string;
  /** The panel's title; for a variable's query its name after a dollar sign. */
  readonly panel: string;
  /** The query as it was sent. */
  readonly expr: string;
  readonly engine: EngineName;
  /** The number of series with a value. */
  readonly series: number;
  readonly milliseconds: number;
  /** The precondition for the panel to show data. */
  readonly needs?: string;
  readonly error?: string;
}

const stepSeconds = 15;

export async function runPanels(options: LiveOptions): Promise<PanelAnswer[]> {
  const { rangeSeconds = 900, rateIntervalSeconds = 60, nowMs = Date.now } = options;
  const endMs = nowMs();
  const range = { startMs: endMs - rangeSeconds * 1_000, endMs, stepSeconds };
  const builtIn = { __rate_interval: `${rateIntervalSeconds}s`, __range: `${rangeSeconds}s` };
  const engines = (
    [
      ["prometheus", options.prometheusUrl],
      ["hub", options.hubUrl],
    ] as const
  ).flatMap(([name, url]) => (url === undefined ? [] : [{ name, engine: new PromEngine(url) }]));
  const answers: PanelAnswer[] = [];
  for (const board of boards) {
    if (options.uids?.includes(board.uid) === false) continue;
    for (const { name, engine } of engines)
      answers.push(...(await runBoard(board, name, engine, range, builtIn)));
  }
  if (options.influx !== undefined) answers.push(...(await runGpuz(options.influx)));
  return answers;
}

async function runBoard(
  board: Board,
  engine: EngineName,
  asked: PromEngine,
  range: Range,
  builtIn: Values,
): Promise<PanelAnswer[]> {
  const { values, counts } = await resolve(board, builtIn, asked, range);
  const answers: PanelAnswer[] = board.variables.map(({ name, query, needs }) => ({
    dashboard: board.uid,
    panel: `$${name}`,
    expr: query,
    engine,
    series: counts.get(name) ?? 0,
    milliseconds: 0,
    ...(needs !== undefined && { needs }),
  }));
  for (const { panel, text } of queries(board)) {
    const expr = substitute(text, values);
    const run = (): Promise<number> =>
      asksForNow(panel) ? asked.now(expr, range) : asked.over(expr, range);
    answers.push(await timed(board, panel, expr, engine, run));
  }
  return answers;
}

/** Flux is not run, since no engine here supports it. */
async function runGpuz(influx: NonNullable<LiveOptions["influx"]>): Promise<PanelAnswer[]> {
  const board = gpuzBoard("influxql");
  const values = {
    timeFilter: `time >= ${influx.startMs}ms and time <= ${influx.endMs}ms`,
    __interval: `${stepSeconds}s`,
    host: ".*",
    model: ".*",
  };
  const answers: PanelAnswer[] = [];
  for (const { name, query } of board.variables)
    answers.push(
      await timed(board, { title: `$${name}` }, query, "influxdb", () => askInflux(influx, query)),
    );
  for (const { panel, text } of queries(board)) {
    // The end of an anchored pattern is not a variable.
    const expr = substitute(text.replaceAll("$/", "\u0000/"), values).replaceAll("\u0000/", "$/");
    answers.push(await timed(board, panel, expr, "influxdb", () => askInflux(influx, expr)));
  }
  return answers;
}

function queries({ rows }: Board): { readonly panel: Panel; readonly text: string }[] {
  return rows
    .flatMap(({ panels }) => panels)
    .flatMap((panel) =>
      panel.targets.map((target) => ({
        panel,
        text: "expr" in target ? target.expr : target.query,
      })),
    );
}

async function timed(
  { uid }: Board,
  { title, needs }: Pick<Panel, "title" | "needs">,
  expr: string,
  engine: EngineName,
  run: () => Promise<number>,
): Promise<PanelAnswer> {
  const startMs = performance.now();
  const what = {
    dashboard: uid,
    panel: title,
    expr,
    engine,
    ...(needs !== undefined && { needs }),
  };
  try {
    const series = await run();
    return { ...what, series, milliseconds: performance.now() - startMs };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { ...what, series: 0, milliseconds: performance.now() - startMs, error: said };
  }
}
