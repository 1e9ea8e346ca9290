import { expect, test } from "vitest";

import { PrefixCache } from "./prefix-cache.ts";

const block = (letter: string): string => letter.repeat(64);

test("a prefix is found in whole blocks from the beginning", () => {
  const cache = new PrefixCache(100);
  expect(cache.lookUp(`${block("a")}${block("b")}`)).toBe(0);
  expect(cache.lookUp(`${block("a")}${block("b")}more`)).toBe(32);
  expect(cache.lookUp(`${block("a")}${block("c")}`)).toBe(16);
  expect(cache.lookUp(block("b"))).toBe(0);
  expect(cache.lookUp("short")).toBe(0);
});

test("what was not used for longest is forgotten first", () => {
  const cache = new PrefixCache(2);
  for (const letter of ["a", "b", "a", "c"]) cache.lookUp(block(letter));
  expect(cache.lookUp(block("a"))).toBe(16);
  expect(cache.lookUp(block("b"))).toBe(0);
});
