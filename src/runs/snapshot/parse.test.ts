import { expect, test } from "vitest";
import { parseSnapshot } from "./parse.ts";

test.each<[string, string, RegExp]>([
  ["nothing", "  \n", /^a\.json is empty: gpulse snapshot save FILE makes one\.$/],
  ["half a file", '{"format":"gpulse-snapshot","version":1,"hos', /is cut short/],
  ["no JSON", "hello: world", /is no JSON/],
  ["other JSON", '{"dashboard":1}', /JSON of another kind/],
  ["a list", "[1,2]", /JSON of another kind/],
  ["null", "null", /JSON of another kind/],
  ["/stats", '{"schema":"gpulse.stats/1"}', /answer of \/stats/],
  [
    "a newer version",
    '{"format":"gpulse-snapshot","version":2}',
    /version 2, made by a newer gpulse/,
  ],
  ["no version", '{"format":"gpulse-snapshot"}', /no version this gpulse knows/],
  ["missing parts", '{"format":"gpulse-snapshot","version":1}', /is damaged: "takenAt"/],
])("%s is refused with a sentence that helps", (_, text, sentence) => {
  expect(() => parseSnapshot(text, "a.json")).toThrow(sentence);
});
