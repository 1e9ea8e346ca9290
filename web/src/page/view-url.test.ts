import { expect, test } from "vitest";
import { queryFromView, viewFromQuery } from "./view-url.ts";

test.each([
  "",
  "?sort=-power",
  "?sort=job",
  "?q=util%3E50+h200",
  "?sort=-gpu&q=a&heat=power&gpu=GPU-1",
])("'%s' comes back as it was", (query) => {
  expect(queryFromView(viewFromQuery(query))).toBe(query);
});

test("what nobody knows falls back to the start", () => {
  expect(viewFromQuery("?sort=-moon&heat=moon")).toEqual(viewFromQuery(""));
});
