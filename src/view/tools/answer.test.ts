import { expect, test } from "vitest";
import { answerLength, name, nameNotice, number, pageOf, renderAnswer, word } from "./answer.ts";

const base = {
  summary: "2 GPUs.",
  columns: [{ title: "HOST" }, { title: "POWER", unit: "W" }, { title: "STATE" }],
  rerun: [{ promql: "gpu_power_watts", of: "POWER" }, { route: "/api/health?host=a" }],
  page: "fleet",
};

test("an answer is a table with units, the way to each number, and the page", () => {
  const rows = [
    [name("a | b"), number(71.26, 1), word("healthy")],
    [name("c"), number(undefined), undefined],
  ];
  expect(renderAnswer({ ...base, rows }, "http://hub:9410/")).toBe(
    [
      "2 GPUs.",
      "",
      "HOST | POWER W | STATE",
      '"a \\u007c b" | 71.3 | healthy',
      '"c" | - | -',
      "",
      nameNotice,
      "Re-run: PromQL of POWER: gpu_power_watts",
      "Re-run: GET /api/health?host=a",
      "Page: http://hub:9410/fleet",
    ].join("\n"),
  );
});

test("rows that do not fit are left for the next offset", () => {
  const rows = Array.from({ length: 500 }, (_, at) => [name(`host-${at}`), number(at), word("x")]);
  const text = renderAnswer({ ...base, rows, offset: 40, total: 600 }, "http://hub");
  const shown = text.split("\n").filter((line) => line.startsWith('"host-')).length;
  expect(shown).toBeLessThan(500);
  expect(text).toContain(`More: ${600 - 40 - shown} more; call again with offset ${40 + shown}.`);
  expect(text.length).toBeLessThan(answerLength + 1_000);
});

test("queries are cut before they fill the answer", () => {
  const rerun = Array.from({ length: 50 }, (_, at) => ({
    promql: `metric_${at}{a="${"x".repeat(90)}"}`,
  }));
  const text = renderAnswer({ ...base, rows: [], rerun }, "http://hub");
  expect(text.match(/^Re-run:/gm)?.length).toBeLessThan(20);
  expect(text).toContain("further queries are left out");
});

test("a page's parameters end neither the link nor the line", () =>
  expect(pageOf("gpu", { uuid: "a)\n*b", time: undefined })).toBe("gpu?uuid=a%29%0A%2Ab"));
