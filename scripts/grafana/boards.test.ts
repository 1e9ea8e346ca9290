import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { repository } from "../../engines/program.ts";
import { parseSelector } from "../../src/query/parse/parse.ts";
import { boards } from "./boards/index.ts";
import { titleOf } from "./metric-panel.ts";
import { renderBoard } from "./dashboard.ts";
import { dashboardFiles, grafanaFiles } from "./files.ts";
import { checkNames, metricNames, readable } from "./names.ts";
import { findMetric } from "../../src/model/catalogue/index.ts";
import { type DashboardJson, dashboardSchema } from "./schema.ts";
import type { Board } from "./shape.ts";
import { usedVariables } from "./variables.ts";
import {
  type ExpectedPanel,
  gpuzInPrometheus,
  gpuzPanels,
  stackPanels,
} from "./expected-panels.ts";

const all = dashboardFiles.map(({ board }) => board);
const json = (board: Board): DashboardJson =>
  v.parse(dashboardSchema, JSON.parse(JSON.stringify(renderBoard(board))));
const panelsOf = (board: Board) => board.rows.flatMap(({ panels }) => panels);
const textOf = (target: object): string =>
  "expr" in target ? String(target.expr) : "query" in target ? String(target.query) : "";
const byUid = all.map((board) => [board.uid, board] as const);

test.for(grafanaFiles.map(({ path, render }) => [path, render] as const))(
  "%s is what the generator writes: npm run docs brings it up to date",
  ([path, render]) => {
    expect(readFileSync(join(repository, path), "utf8")).toBe(render());
  },
);

test.for(byUid)("%s is a dashboard by a strict schema", ([, board]) => {
  const checked = v.safeParse(dashboardSchema, JSON.parse(JSON.stringify(renderBoard(board))));
  const wrong = checked.issues?.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`);
  expect(wrong ?? []).toEqual([]);
});

test("a panel of a kind that is not known does not pass the schema", () => {
  const [board] = boards;
  const drawn = JSON.parse(JSON.stringify(board && renderBoard(board))) as { panels: object[] };
  drawn.panels[1] = { ...drawn.panels[1], type: "graph" };
  expect(v.safeParse(dashboardSchema, drawn).success).toBe(false);
});

test.for(byUid)("%s: no two panels share a number or a place", ([, board]) => {
  const { panels } = json(board);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const taken = new Set<string>();
  for (const { title, gridPos } of panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x},${y}`), title).toBe(false);
        taken.add(`${x},${y}`);
      }
  }
});

test("no two dashboards share a uid or a title", () => {
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(all.length);
  expect(new Set(all.map(({ title }) => title)).size).toBe(all.length);
});

test("every PromQL query and every variable's selector parses", () => {
  const queries = boards.flatMap(panelsOf).flatMap(({ targets }) => targets.map(textOf));
  expect(queries.length).toBeGreaterThan(150);
  for (const query of queries) expect(metricNames(query), query).not.toEqual([]);
  for (const { query } of boards.flatMap(({ variables }) => variables)) {
    const selector = /^label_values\((.+), \w+\)$/.exec(query)?.[1];
    if (selector === undefined) expect(query).toMatch(/^query_result\(/);
    else expect(parseSelector(readable(selector)), query).not.toEqual([]);
  }
});

test.for(byUid)(
  "%s: every variable that is used is declared, and the other way round",
  ([, board]) => {
    const given = new Set(["__rate_interval", "__range", "timeFilter", "__interval"]);
    const declared = new Set(board.variables.map(({ name }) => name));
    const asked = [
      ...panelsOf(board).flatMap(({ targets }) => targets.map(textOf)),
      ...board.variables.map(({ query }) => query),
    ].flatMap(usedVariables);
    expect(asked.filter((name) => !declared.has(name) && !given.has(name))).toEqual([]);
    expect([...declared].filter((name) => !asked.includes(name))).toEqual([]);
  },
);

test("every link leads to a dashboard that is there, with variables that it has", () => {
  for (const { leadsTo, title } of all.flatMap(panelsOf)) {
    if (leadsTo === undefined) continue;
    const aim = boards.find(({ uid }) => uid === leadsTo.uid);
    const names = aim?.variables.map(({ name }) => name) ?? [];
    expect(names, title).toEqual(expect.arrayContaining([...leadsTo.labels]));
  }
});

test("a panel that asks for a metric nobody gives fails the build, with the name that was likely meant", () => {
  const board = (expr: string): Board => ({
    uid: "gpulse-x",
    title: "x",
    about: "x",
    tags: [],
    source: "prometheus",
    variables: [],
    rows: [
      {
        title: "x",
        panels: [
          {
            title: "Load",
            kind: "stat",
            unit: "short",
            targets: [{ expr, legend: "x" }],
            width: 4,
          },
        ],
      },
    ],
  });
  expect(() => checkNames(board("avg(gpu_load_ratio)"))).toThrow(/"Load" asks for gpu_load_ratio/);
  expect(() => checkNames(board("redis_upp"))).toThrow(/Did you mean "redis_up"/);
  checkNames(board("avg(gpu_utilization_ratio) + sum(ml_step_duration_seconds_sum)"));
});

test("0 stands in for nothing only where nothing is the truth", () => {
  const zeroed = boards
    .flatMap(panelsOf)
    .filter(({ targets }) => targets.some((target) => textOf(target).includes("vector(0)")));
  expect(zeroed.map(({ title }) => title)).toEqual([
    "Firing alerts",
    // If no response is of the kind, the share is 0; without any response it is absent.
    "Share of failed requests",
    "Firing",
    "About to fire",
  ]);
});

test.for([
  ["gpu_temperature_celsius", "GPU temperature"],
  ["gpu_utilization_ratio", "GPU utilisation"],
  ["gpu_pcie_replays_total", "GPU PCIe replays"],
  ["ml_jobs_running", "ML jobs running"],
])("%s is titled %s", ([name = "", title]) => {
  const entry = findMetric(name);
  expect(entry && titleOf(entry)).toBe(title);
});

function found(within: readonly Board[], { title, asks, kind }: ExpectedPanel): boolean {
  const asksFor = (text: string): boolean => new RegExp(`(^|[^\\w:])${asks}($|[^\\w:])`).test(text);
  const panels =
    kind === "row"
      ? within
          .flatMap(({ rows }) => rows)
          .filter((row) => row.title === title)
          .flatMap((row) => row.panels)
      : within
          .flatMap(panelsOf)
          .filter((panel) => panel.title === title && (kind === undefined || panel.kind === kind));
  return panels.some(({ targets }) => targets.some((target) => asksFor(textOf(target))));
}

test.for(stackPanels)("the panels of an observability stack: $wants", (wanted) => {
  expect(found(boards, wanted)).toBe(true);
});

test.for(gpuzInPrometheus)("the panels of a GPU-Z pipeline, in PromQL: $wants", (wanted) => {
  expect(found(boards, wanted)).toBe(true);
});

test.for(
  ["gpulse-gpuz-influxql", "gpulse-gpuz-flux"].flatMap((uid) =>
    gpuzPanels.map((wanted) => ({ uid, ...wanted })),
  ),
)("the panels of a GPU-Z pipeline, in $uid: $wants", ({ uid, ...wanted }) => {
  expect(
    found(
      all.filter((board) => board.uid === uid),
      wanted,
    ),
  ).toBe(true);
});

test("data sources hold no secret: only the names of variables", () => {
  interface Sources {
    readonly datasources: readonly {
      readonly uid: string;
      readonly type: string;
      readonly secureJsonData?: Readonly<Record<string, string>>;
    }[];
  }
  const file = join(repository, "deploy/grafana/provisioning/datasources/gpulse.yml");
  const { datasources } = parseYaml(readFileSync(file, "utf8")) as Sources;
  expect(datasources.map(({ type }) => type)).toEqual([
    "prometheus",
    "prometheus",
    "influxdb",
    "influxdb",
    "loki",
  ]);
  const secrets = datasources.flatMap(({ secureJsonData = {} }) => Object.values(secureJsonData));
  for (const secret of secrets) expect(secret).toMatch(/^(Bearer )?\$[A-Z_]+$/);
});
