import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { convertGrafana, isGrafana } from "./grafana.ts";
import type { BoardJson } from "./json.ts";
import { checkBoard } from "./schema.ts";

const shipped = fileURLToPath(new URL("../../../deploy/grafana/dashboards", import.meta.url));
const read = (file: string): BoardJson =>
  JSON.parse(readFileSync(path.join(shipped, file), "utf8")) as BoardJson;

const one = (expr: unknown, more: object = {}, list: readonly object[] = []): BoardJson => ({
  title: "T",
  templating: { list },
  panels: [{ type: "timeseries", title: "P", targets: [{ expr }], ...more }],
});
const queryOf = (given: BoardJson): string | undefined =>
  convertGrafana(given).board.panels[0]?.queries[0]?.query;

test.each(readdirSync(shipped))("our own dashboard %s becomes a valid board", (file) => {
  const dashboard = read(file);
  expect(isGrafana(dashboard)).toBe(true);
  const { board, leftOut } = convertGrafana(dashboard);
  expect(checkBoard(board)).toEqual({ board });
  const all = (dashboard["panels"] as BoardJson[]).flatMap((panel) =>
    panel["type"] === "row" ? ((panel["panels"] as BoardJson[] | undefined) ?? []) : [panel],
  );
  const refused = leftOut.filter((line) => line.includes("not imported. ") && line.startsWith("“"));
  expect(board.panels.length + refused.length).toBe(all.length);
  expect(board.panels.length).toBeGreaterThan(5);
});

test("the fleet dashboard keeps its variables, units, legends and order", () => {
  const { board } = convertGrafana(read("fleet.json"));
  expect(board.variables).toEqual([
    { name: "host", label: "host", selector: "gpu_up" },
    { name: "model", label: "model", selector: 'gpu_info{host=~"$host"}' },
  ]);
  const kinds = new Set(board.panels.map(({ kind }) => kind));
  expect([...kinds].sort()).toEqual(["gauge", "stat", "table", "timeseries"]);
  expect(board.panels.some(({ unit }) => unit === "ratio")).toBe(true);
  expect(board.panels.some(({ queries }) => queries[0]?.legend?.includes("{{host}}"))).toBe(true);
});

test("a variable of query results offers the values of the label that its regex takes", () => {
  const { board } = convertGrafana(read("compare.json"));
  const choice = { label: "uuid", selector: "gpu_info", single: true };
  expect(board.variables).toEqual([
    { name: "a", ...choice },
    { name: "b", ...choice },
  ]);
});

const variablesOf = (given: object): unknown =>
  convertGrafana(
    one('x{v=~"$v",host=~"$host"}', {}, [
      { name: "host", type: "query", query: "label_values(host)" },
      { name: "v", type: "query", includeAll: true, ...given },
    ]),
  ).board.variables.at(-1);

test.each([
  ["label_values(y, v)", "", "y"],
  ['label_values(y{host=~"$host"}, v)', "", 'y{host=~"$host"}'],
  ["label_values(v)", "", '{v!=""}'],
  ['query_result(max by (v) (y{host=~"$host"}))', '/.*v="([^"]*)".*/', 'y{host=~"$host"}'],
])("the variable %s is the label v of %s", (query, regex, selector) => {
  expect(variablesOf({ query, regex })).toEqual({ name: "v", label: "v", selector });
  expect(variablesOf({ query: { query, refId: "A" }, regex })).toMatchObject({ selector });
  expect(variablesOf({ definition: query, regex })).toMatchObject({ selector });
});

test.each([
  ["query_result(a + b)", '/v="([^"]*)"/'],
  ["query_result(y)", "/(.*)/"],
  ["query_result(y[", '/v="([^"]*)"/'],
  ["metrics(gpu_.*)", ""],
])(
  "the variable %s with the regex %s is refused, and so are the queries that use it",
  (query, regex) => {
    const { board, leftOut } = convertGrafana(one('x{v=~"$v"}', {}, [{ name: "v", query, regex }]));
    expect(board.panels).toEqual([]);
    expect(leftOut[0]).toMatch(/^Variable “v”: not imported/);
  },
);

test("a variable of which one value is chosen has no All, and a filter of values is listed", () => {
  const query = "label_values(y, v)";
  expect(variablesOf({ query, includeAll: false })).toMatchObject({ single: true });
  expect(variablesOf({ query, includeAll: false, multi: true })).not.toHaveProperty("single");
  const given = one('x{v="$v"}', {}, [{ name: "v", query, regex: "/a.*/" }]);
  expect(convertGrafana(given).leftOut).toContainEqual(
    expect.stringContaining("without its regex"),
  );
});

test.each([
  [{ type: "custom", query: "a,b", current: { value: ["a", "b"] } }, 'x{v=~"(a|b)"}'],
  [{ type: "custom", query: "a,b", current: { value: "b" } }, 'x{v=~"b"}'],
  [{ type: "custom", query: "a, b" }, 'x{v=~"a"}'],
  [{ type: "textbox", query: "some text" }, 'x{v=~"some text"}'],
])("a fixed variable is filled in as Grafana does: %j", (variable, expected) => {
  expect(queryOf(one('x{v=~"$v"}', {}, [{ name: "v", ...variable }]))).toBe(expected);
});

test("what could not be taken over is listed by panel with the reason", () => {
  const { leftOut } = convertGrafana(read("gpu.json"));
  expect(leftOut).toContainEqual(
    expect.stringMatching(/not imported\. Panels of type "state-timeline"/),
  );
  expect(leftOut).toContainEqual("“Identity”: imported without its transformations.");
  const { board, leftOut: influx } = convertGrafana(
    JSON.parse(
      readFileSync(path.join(shipped, "..", "influxdb", "gpuz.json"), "utf8"),
    ) as BoardJson,
  );
  expect(board.panels).toEqual([]);
  expect(influx).toContainEqual(expect.stringContaining('data source type "influxdb"'));
});

test.each([
  ["rate(x[$__rate_interval])", "rate(x[$rate])"],
  ["rate(x[${__interval}])", "rate(x[$step])"],
  ["increase(x[[[__range]]])", "increase(x[$range])"],
  ['x{host=~"${host:regex}"}', 'x{host=~"$host"}'],
  ['x{a="$fixed"}', 'x{a="some"}'],
])("%s is asked as %s", (expr, expected) => {
  const list = [
    { name: "host", type: "query", query: { query: "label_values(host)" } },
    { name: "fixed", type: "constant", query: "some" },
  ];
  expect(queryOf(one(expr, {}, list))).toBe(expected);
});

test.each([
  ["no panels", { panels: [] }],
  ["panels of other kinds", { panels: [1, null, "x", [], {}] }],
  [
    "wrong types everywhere",
    { title: 7, panels: [{ type: 5, title: {}, targets: "x", gridPos: 3 }] },
  ],
  ["an unknown variable", one('x{a="$nobody"}')],
  ["a query that is not PromQL", one("SELECT 1")],
  ["a query of 100,000 characters", one(`x${" + x".repeat(25_000)}`)],
  ["numbers that are none", one("x", { gridPos: { w: 1e308, h: -5 } })],
  [
    "a row inside a row inside a row",
    { panels: [{ type: "row", panels: [{ type: "row", panels: [{}] }] }] },
  ],
  [
    "keys of every object",
    JSON.parse('{"panels":[{"__proto__":{"type":"stat"},"constructor":1}]}') as BoardJson,
  ],
  [
    "a variable named like a duration",
    one("x[$step]", {}, [{ name: "step", query: "label_values(a)" }]),
  ],
  [
    "ten thousand panels",
    {
      panels: Array.from({ length: 10_000 }, (_, at) => ({
        type: "stat",
        title: `p${at}`,
        targets: [{ expr: "up" }],
      })),
    },
  ],
])("%s is no reason to fail", (_, given) => {
  const { board, leftOut } = convertGrafana(given);
  expect(board.panels.length).toBeLessThanOrEqual(60);
  expect(leftOut.length).toBeLessThanOrEqual(201);
  for (const line of leftOut) expect(line.length).toBeLessThanOrEqual(400);
  if (board.panels.length > 0) expect(checkBoard(board).problem).toBeUndefined();
});

test("a deeply nested file is read no deeper than dashboards go", () => {
  const deep = `{"panels":[${'{"type":"row","panels":['.repeat(20_000)}${"]}".repeat(20_000)}]}`;
  expect(convertGrafana(JSON.parse(deep) as BoardJson).board.panels).toEqual([]);
});
