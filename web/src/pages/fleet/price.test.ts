import { expect, test } from "vitest";
import { type Price, readPrice } from "./price.ts";

test.each<[string, Price | undefined]>([
  ["0.30 €", { perKwh: 0.3, currency: "€" }],
  ["0,12USD", { perKwh: 0.12, currency: "USD" }],
  ["25", { perKwh: 25, currency: "" }],
  ["", undefined],
  ["cheap", undefined],
  ["0.3 0.4", undefined],
])("the price %j is %j", (text, price) => {
  expect(readPrice(text)).toEqual(price);
});
