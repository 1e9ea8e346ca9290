import { expect, test } from "vitest";
import { costText, massText } from "./price.ts";

test.each([
  [0, "0.00 EUR"],
  [0.0004, "< 0.01 EUR"],
  [0.005, "0.01 EUR"],
  [1234.5, "1234.50 EUR"],
])("%d is %s", (cost, text) => expect(costText(cost, "EUR")).toBe(text));

test.each([
  [1.26, "1.3 g"],
  [99.9, "99.9 g"],
  [480, "0.48 kg"],
])("%d g is %s", (grams, text) => expect(massText(grams)).toBe(text));
