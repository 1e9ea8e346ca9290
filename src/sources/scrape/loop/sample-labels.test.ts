import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import { sampleLabels } from "./sample-labels.ts";

const rows = [
  [false, { a: "page" }, { b: "target" }, { a: "page", b: "target" }],
  [false, { a: "page" }, { a: "target" }, { a: "target", exported_a: "page" }],
  [true, { a: "page" }, { a: "target" }, { a: "page" }],
  [false, { a: "" }, { a: "target" }, { a: "target" }],
  [true, { a: "" }, { a: "target" }, {}],
  [
    false,
    { a: "page", exported_a: "also" },
    { a: "target" },
    { a: "target", exported_a: "also", exported_exported_a: "page" },
  ],
  [
    false,
    { a: "page", exported_a: "also" },
    { a: "target", exported_a: "third" },
    {
      a: "target",
      exported_a: "third",
      exported_exported_a: "page",
      exported_exported_exported_a: "also",
    },
  ],
] as const;

test.for(rows)("honoured %s: %j of %j is %j", ([honorLabels, page, target, want]) => {
  const emptied = Object.entries(page).flatMap(([name, value]) => (value === "" ? [name] : []));
  const rules = { honorLabels, metricRelabelRules: [] };
  const got = sampleLabels(labelSet(page), emptied, labelSet(target), rules);
  expect(Object.fromEntries(got ?? [])).toEqual(want);
});
