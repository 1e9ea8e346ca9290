import { existsSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { repository } from "../../engines/program.ts";
import { importsOf, readSource, resolveImport } from "../architecture/source-tree.ts";
import { readPage } from "./pages.ts";
import { unconnectedSteps, type Walk, walksOf } from "./walks.ts";

const walks = walksOf(readPage("ARCHITECTURE.md").text);
const limits = [30, 45, 45];

const cache = new Map<string, ReadonlySet<string>>();
function importedFiles(file: string): ReadonlySet<string> {
  let found = cache.get(file);
  if (found === undefined) {
    const all = importsOf(readSource(file)).map((imported) => resolveImport(file, imported));
    found = new Set(all.filter((imported) => imported !== undefined));
    cache.set(file, found);
  }
  return found;
}

test("ARCHITECTURE.md has three walks: NVML to browser, remote-write to email, GPU-Z to Parquet", () => {
  expect(walks.map(({ title }) => title.replace(/ \(.*/, ""))).toEqual([
    "A reading from NVML to the browser",
    "A sample from remote-write to an email",
    "A GPU-Z log to Parquet",
  ]);
});

test.for(walks.map((walk, at) => [walk.title, walk, limits[at] ?? 0] as const))(
  "%s: the stated number of files, numbered, within the limit, each file once",
  ([, { stated, steps }, limit]) => {
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, at) => at + 1));
    expect(steps).toHaveLength(stated);
    expect(stated).toBeLessThanOrEqual(limit);
    expect(new Set(steps.map(({ file }) => file)).size).toBe(stated);
  },
);

test.for(walks.map((walk) => [walk.title, walk] as const))(
  "%s: every file exists, and an import connects it to an earlier one",
  ([, walk]) => {
    const missing = walk.steps.filter(({ file }) => !existsSync(path.join(repository, file)));
    expect(missing.map(({ file }) => file)).toEqual([]);
    expect(unconnectedSteps(walk, importedFiles)).toEqual([]);
  },
);

test("a walk is read from its heading, its list and its boundary lines", () => {
  const text =
    "### One: 3 files\n\n1. `a.ts`: starts.\n2. `b.ts`: goes on.\n\n— HTTP: on /x.\n\n3. `c.ts`: ends.\n\n## Next\n1. `d.ts`: not part of it.";
  expect(walksOf(text)).toEqual([
    {
      title: "One",
      stated: 3,
      steps: [
        { number: 1, file: "a.ts", isEntry: true },
        { number: 2, file: "b.ts", isEntry: false },
        { number: 3, file: "c.ts", isEntry: true },
      ],
    },
  ]);
});

test.for(["2. a.ts: no code marks", "— then: an unknown boundary", "2. `a.ts` no colon"])(
  "%j counts as a step without a file",
  (line) => {
    expect(walksOf(`### One: 1 files\n${line}`)[0]?.steps).toMatchObject([{ file: "" }]);
  },
);

test("a file that no import connects to an earlier one is found", () => {
  const step = (file: string, isEntry = false) => ({ number: 1, file, isEntry });
  const walk: Walk = {
    title: "One",
    stated: 4,
    steps: [step("a", true), step("b"), step("c"), step("d"), step("e", true)],
  };
  const imports: Readonly<Record<string, readonly string[]>> = { a: ["b"], c: ["a"], d: ["e"] };
  expect(unconnectedSteps(walk, (file) => new Set(imports[file]))).toEqual(["d"]);
});
