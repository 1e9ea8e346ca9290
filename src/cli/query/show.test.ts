import { expect, test } from "vitest";
import { renderQueryCsv, renderQueryTable, seriesText, sparkline } from "./show.ts";

test("an instant vector is a table of series and values", () => {
  const answer = {
    resultType: "vector" as const,
    result: [{ metric: { __name__: "up", job: "a" }, value: [1, "1"] as [number, string] }],
  };
  expect(renderQueryTable(answer)).toBe('SERIES       VALUE\nup{job="a"}  1\n');
});

test("a range shows its shape, its edges and its last value; a gap or NaN is no number", () => {
  const values = ["1", "2", "NaN", "4"].map((text, index): [number, string] => [index, text]);
  const table = renderQueryTable({
    resultType: "matrix",
    result: [{ metric: { __name__: "x" }, values }],
  });
  expect(table.split("\n")[1]).toBe("x       ▁▃█  1    2.3333  4    4");
});

test("a native histogram is written as PromQL writes it, in a table and in CSV", () => {
  const histogram = {
    count: "7",
    sum: "1.5",
    buckets: [
      [1, "-2", "-1", "1"],
      [3, "-0.1", "0.1", "2"],
      [0, "1", "2", "4"],
    ] as [number, string, string, string][],
  };
  const text = "{count:7, sum:1.5, [-2,-1):1, [-0.1,0.1]:2, (1,2]:4}";
  const metric = { __name__: "step_seconds" };
  const instant = {
    resultType: "vector" as const,
    result: [{ metric, histogram: [0, histogram] as [number, typeof histogram] }],
  };
  expect(renderQueryTable(instant)).toContain(`step_seconds  ${text}`);
  const range = {
    resultType: "matrix" as const,
    result: [
      {
        metric,
        values: [[60, "3"]] as [number, string][],
        histograms: [
          [0, histogram],
          [120, histogram],
        ] as [number, typeof histogram][],
      },
    ],
  };
  expect(renderQueryTable(range)).toContain(text);
  expect(renderQueryCsv(range).split("\n")).toEqual([
    "__name__,time,value",
    `step_seconds,1970-01-01T00:00:00.000Z,"${text}"`,
    "step_seconds,1970-01-01T00:01:00.000Z,3",
    `step_seconds,1970-01-01T00:02:00.000Z,"${text}"`,
    "",
  ]);
});

test("nothing is said to be nothing", () =>
  expect(renderQueryTable({ resultType: "vector", result: [] })).toBe("nothing matches\n"));

test.each([
  [[1, 1, 1], "▁▁▁"],
  [[0, 1], "▁█"],
  [[0, 7, 3.5], "▁█▅"],
])("the sparkline of %j is %s", (numbers, line) => expect(sparkline(numbers)).toBe(line));

test("a long range has forty bars, each the mean of its points", () => {
  const line = sparkline(Array.from({ length: 400 }, (_, index) => index));
  expect(line).toHaveLength(40);
  expect([line[0], line.at(-1)]).toEqual(["▁", "█"]);
});

test.each([
  [{ __name__: "up" }, "up"],
  [{ a: 'x"y' }, '{a="x\\"y"}'],
  [{}, "{}"],
])("%j is written %s", (metric, text) => expect(seriesText(metric)).toBe(text));

test("CSV has a column a label, quotes what it must, and disarms formulas", () => {
  const csv = renderQueryCsv({
    resultType: "vector",
    result: [{ metric: { a: 'x,"y', b: "=cmd()" }, value: [1_700_000_000, "1"] }],
  });
  expect(csv).toBe('a,b,time,value\n"x,""y",\'=cmd(),2023-11-14T22:13:20.000Z,1\n');
});
