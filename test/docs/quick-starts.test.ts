// Runs the marked blocks of README and the quick starts in order and compares the output with the page.

import { expect, test } from "vitest";

import { runnablePages } from "./quick-start.ts";
import { readThrough } from "./reader.ts";

const runnable = runnablePages().filter(({ file }) => !file.startsWith("docs/guides/"));

test("README and the quick start of each audience are run", () => {
  const starts = ["benchmark", "data", "platform", "workstation"];
  expect(runnable.map(({ file }) => file)).toEqual(
    expect.arrayContaining(["README.md", ...starts.map((name) => `docs/start/${name}.md`)]),
  );
});

test.for(runnable)(
  "the commands of $file run and print what the page shows",
  { timeout: 300_000 },
  ({ text }) => readThrough(text),
);
