import { expect, test } from "vitest";
import { repeatsOf } from "../../../test/fixtures/runs/compare.ts";
import { compare } from "../../runs/compare/compare.ts";
import { seeded } from "../../runs/compare/random.ts";
import { formatComparison } from "./show.ts";

test("each run says what bounded its GPUs and its model FLOP utilisation, where they are known", () => {
  const given = {
    name: "a",
    watts: 250,
    repeats: 2,
    work: 5,
    between: 0,
    within: 0,
    utilization: 1,
  };
  const comparison = compare([repeatsOf(given, seeded(1))]);
  expect(formatComparison(comparison)).not.toContain("bounded");
  const subjects = comparison.subjects.map((subject) => ({
    ...subject,
    runs: subject.runs.map((run, at) => ({
      ...run,
      name: `run ${at + 1}`,
      ...(at === 0 ? {} : { mfu: "model FLOP utilisation 41.0 %" }),
      gpus: run.gpus.map((gpu) => ({ ...gpu, boundBy: "bound by tensor 82 %, host 18 %" })),
    })),
  }));
  expect(formatComparison({ ...comparison, subjects })).toContain(
    [
      "What bounded the work",
      "  a, run 1: tensor 82 %, host 18 %",
      "  a, run 2: tensor 82 %, host 18 %; model FLOP utilisation 41.0 %",
      "",
    ].join("\n"),
  );
});
