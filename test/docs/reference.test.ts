import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { expect, test } from "vitest";
import { repository } from "../../engines/program.ts";
import { pages } from "../../scripts/reference/pages.ts";
import { statsSchema } from "../../src/agent/stats/schema.ts";

test.for(pages.map(({ path, render }) => [path, render] as const))(
  "%s is current: npm run docs writes it",
  async ([path, render]) => {
    expect(readFileSync(join(repository, path), "utf8")).toBe(await render());
  },
);

test("every option of a source or sink has a meaning, and no default is an object's name", () => {
  const page = readFileSync(join(repository, "docs/reference/sources-and-sinks.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(300);
  expect(rows.filter((line) => / \|\s*\|$/.test(line))).toEqual([]);
  expect(page).not.toContain("[object");
});

test("the example of /stats follows its schema", () => {
  const page = readFileSync(join(repository, "docs/reference/stats.md"), "utf8");
  const example = /```json\n(.*?)```/s.exec(page)?.[1] ?? "";
  expect(v.safeParse(statsSchema, JSON.parse(example)).success).toBe(true);
});
