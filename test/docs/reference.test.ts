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

test("the example of /stats follows its schema", () => {
  const page = readFileSync(join(repository, "docs/reference/stats.md"), "utf8");
  const example = /```json\n(.*?)```/s.exec(page)?.[1] ?? "";
  expect(v.safeParse(statsSchema, JSON.parse(example)).success).toBe(true);
});
