import { expect, test } from "vitest";
import { repeatsOf, type Truth } from "../../../test/fixtures/runs/compare.ts";
import { compare } from "./compare.ts";
import { seeded } from "./random.ts";
import { summarizeComparison } from "./words.ts";

const usual = { repeats: 5, watts: 250, work: 5_000, between: 0.004, within: 0.03, following: 0.9 };

function headline(one: Partial<Truth>, other: Partial<Truth>): string {
  const random = seeded(1);
  const { subjects, metrics } = compare([
    repeatsOf({ ...usual, name: "A", ...one }, random),
    repeatsOf({ ...usual, name: "B", ...other }, random),
  ]);
  const found = summarizeComparison(subjects, metrics);
  return `${found?.grade}. ${found?.text}`.replaceAll("\u00a0", " ");
}

test.each([
  [
    "a difference beyond the noise is clear, with both values and its size",
    {},
    { watts: 280 },
    /^Clear\. Performance per watt of B and A, [\d.]+ .* against [\d.]+ .*, −1\d(\.\d)? %\.$/,
  ],
  [
    "one repeat of each cannot tell, with both values, the size and what is needed",
    { repeats: 1 },
    { repeats: 1, watts: 280 },
    /^Cannot tell\. Performance per watt of B and A, [\d.]+ .* against [\d.]+ .*, −[\d.]+ %: one repeat is too few: at least 2 more repeats of each are needed\.$/,
  ],
  [
    "a difference within the noise cannot tell",
    { between: 0.05 },
    { between: 0.05, watts: 252 },
    /^Cannot tell\. .* against .*, [+−][\d.]+ %: (for a difference of this size about|if there is a difference)/,
  ],
  [
    "equal repeats have no difference",
    { between: 0, within: 0 },
    { between: 0, within: 0 },
    /^No difference\. .* against /,
  ],
] as const)("%s", (_, one, other, text) => expect(headline(one, other)).toMatch(text));
