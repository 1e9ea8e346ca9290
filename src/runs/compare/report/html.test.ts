import { expect, test } from "vitest";
import { repeatsOf } from "../../../../test/fixtures/runs/compare.ts";
import { compare, type Comparison } from "../compare.ts";
import { seeded } from "../random.ts";
import { htmlOf } from "./html.ts";
import { markdownOf } from "./markdown.ts";

const comparison = compare(
  ["before", "after"].map((name, at) =>
    repeatsOf(
      {
        name,
        watts: 250 + 20 * at,
        repeats: 3,
        work: 5_000,
        between: 0.004,
        within: 0.03,
        utilization: 1,
      },
      seeded(at + 1),
    ),
  ),
);

/** The comparison with these limits for the GPUs of every run. */
function withBounds(...words: readonly (string | undefined)[]): Comparison {
  const subjects = comparison.subjects.map((subject) => ({
    ...subject,
    runs: subject.runs.map((run) => ({
      ...run,
      gpus: words.flatMap((boundBy) =>
        run.gpus.slice(0, 1).map((gpu) => ({
          ...gpu,
          ...(boundBy === undefined ? {} : { boundBy: `bound by ${boundBy}` }),
        })),
      ),
    })),
  }));
  return { ...comparison, subjects };
}

/** The cells of the column "bound by". */
function boundCells(...words: readonly (string | undefined)[]): (string | undefined)[] {
  const html = htmlOf(withBounds(...words), { madeMs: 0, version: "1" });
  const cells = html.matchAll(
    /<td class="t">[^<]*<[^>]*>bound by<[^>]*><span>(.*?)<\/span><\/td>/g,
  );
  return [...cells].map(([, cell]) => cell);
}

test("a run says what bounded its GPUs; those that differ, each by its place", () => {
  expect(new Set(boundCells("tensor 82 %, host 18 %"))).toEqual(
    new Set(["tensor 82 %, host 18 %"]),
  );
  expect(new Set(boundCells("memory 100 %", "host <b>", undefined))).toEqual(
    new Set(["GPU 0: memory 100 %<br>GPU 1: host &lt;b&gt;<br>GPU 2: n/a"]),
  );
});

test("a run whose GPUs report too little says so instead of a word", () => {
  const [cell, ...others] = boundCells(undefined);
  expect(others.length).toBeGreaterThan(0);
  expect(cell).toContain("n/a: not enough is reported");
});

test("Markdown lists what bounded each run, and nothing where it is unknown", () => {
  const known = withBounds("tensor 82 %, host 18 %");
  const [run] = known.subjects[0]?.runs ?? [];
  expect(markdownOf(known)).toContain(`- before, ${run?.name ?? ""}: tensor 82 %, host 18 %\n`);
  expect(markdownOf(withBounds(undefined))).not.toContain("bounded");
});
