import { expect, test } from "vitest";
import { formatPreferences, parsePreferences } from "./preferences.ts";

test.each([
  { theme: "dark", density: "compact" },
  { theme: "auto", density: "comfortable" },
] as const)("$theme and $density come back from the cookie beside others", (chosen) => {
  expect(parsePreferences(`a=b; ${formatPreferences(chosen)}; c=d`)).toEqual(chosen);
});

test.each([
  undefined,
  "",
  "gpulse_look",
  "gpulse_look=dark",
  'gpulse_look=dark.compact">',
  "gpulse_look=<b>.compact",
  "other=dark.compact",
])("%s holds no preferences", (header) => {
  expect(parsePreferences(header)).toBeUndefined();
});
