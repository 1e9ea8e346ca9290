import { expect, test } from "vitest";
import { csvOf } from "./text.ts";

test.each([
  ["=1+1", "'=1+1"],
  ["+1", "'+1"],
  ["-1", "'-1"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\t=1", "'\t=1"],
  ['=A1,"x"', `"'=A1,""x"""`],
  ["a=b", "a=b"],
  [-1.5, "-1.5"],
  [null, ""],
])("%j is written %s: a text is no formula, a number stays one", (value, written) => {
  const column = { name: "a", kind: "text" as const, unit: "", help: "" };
  expect(csvOf({ name: "x", title: "x", columns: [column], rows: [[value]] })).toBe(
    `a\n${written}\n`,
  );
});
