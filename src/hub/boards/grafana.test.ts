import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { convertGrafana, isGrafana } from "./grafana.ts";
import type { JsonRecord } from "./json.ts";
import { checkBoard } from "./schema.ts";

const shipped = fileURLToPath(new URL("../../../deploy/grafana/dashboards", import.meta.url));
const read = (file: string): JsonRecord =>
  JSON.parse(readFileSync(path.join(shipped, file), "utf8")) as JsonRecord;

test.each(readdirSync(shipped))("our own dashboard %s becomes a valid board", (file) => {
  const dashboard = read(file);
  expect(isGrafana(dashboard)).toBe(true);
  const { board, leftOut } = convertGrafana(dashboard);
  expect(checkBoard(board)).toEqual({ board });
  const all = (dashboard["panels"] as JsonRecord[]).flatMap((panel) =>
    panel["type"] === "row" ? ((panel["panels"] as JsonRecord[] | undefined) ?? []) : [panel],
  );
  const refused = leftOut.filter(
    (line) => line.includes("not taken over. ") && line.startsWith("“"),
  );
  expect(board.panels.length + refused.length).toBe(all.length);
  // Its variables are results of a query, not label values.
  if (file === "compare.json") expect(board.panels).toEqual([]);
  else expect(board.panels.length).toBeGreaterThan(5);
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

test("what could not be taken over is listed by panel with the reason", () => {
  const { leftOut } = convertGrafana(read("gpu.json"));
  expect(leftOut).toContainEqual(
    expect.stringMatching(/not taken over\. Panels of type "state-timeline"/),
  );
  expect(leftOut).toContainEqual("“Identity”: taken over without its transformations.");
  const { board, leftOut: influx } = convertGrafana(
    JSON.parse(
      readFileSync(path.join(shipped, "..", "influxdb", "gpuz.json"), "utf8"),
    ) as JsonRecord,
  );
  expect(board.panels).toEqual([]);
  expect(influx).toContainEqual(expect.stringContaining('data source type "influxdb"'));
});

const one = (expr: unknown, more: object = {}, list: readonly object[] = []): JsonRecord => ({
  title: "T",
  templating: { list },
  panels: [{ type: "timeseries", title: "P", targets: [{ expr }], ...more }],
});
const queryOf = (given: JsonRecord): string | undefined =>
  convertGrafana(given).board.panels[0]?.queries[0]?.query;

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
    JSON.parse('{"panels":[{"__proto__":{"type":"stat"},"constructor":1}]}') as JsonRecord,
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
  expect(convertGrafana(JSON.parse(deep) as JsonRecord).board.panels).toEqual([]);
});
