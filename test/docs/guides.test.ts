// Runs the marked blocks of the guides; in a separate file, so that they run in parallel with the quick starts.

import { expect, test } from "vitest";

import { runnablePages } from "./quick-start.ts";
import { readThrough } from "./reader.ts";

const runnable = runnablePages().filter(({ file }) => file.startsWith("docs/guides/"));

test("most guides are run", () => {
  expect(runnable.length).toBeGreaterThan(20);
});

test.for(runnable)(
  "the commands of $file run and print what the page shows",
  { timeout: 300_000 },
  ({ text }) => readThrough(text),
);
