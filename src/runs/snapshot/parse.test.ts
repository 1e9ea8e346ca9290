import { expect, test } from "vitest";
import { parseSnapshot } from "./parse.ts";

test.each<[string, string, RegExp]>([
  ["nothing", "  \n", /^a\.json is empty: gpulse snapshot save FILE creates one\.$/],
  ["half a file", '{"format":"gpulse-snapshot","version":1,"hos', /is cut short/],
  ["no JSON", "hello: world", /is not JSON/],
  ["other JSON", '{"dashboard":1}', /is other JSON/],
  ["a list", "[1,2]", /is other JSON/],
  ["null", "null", /is other JSON/],
  ["/stats", '{"schema":"gpulse.stats/1"}', /response of \/stats/],
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
