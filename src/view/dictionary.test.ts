import { expect, test } from "vitest";
import { dictionary, searchDictionary } from "./dictionary.ts";

test("a number finds its Xid, words find throttle reasons and memory errors", () => {
  expect(searchDictionary("79").map(({ term }) => term)).toEqual(["Xid 79"]);
  expect(searchDictionary("xid 31").map(({ term }) => term)).toEqual(["Xid 31"]);
  expect(searchDictionary("power supply").map(({ term }) => term)).toContain("power brake");
  expect(searchDictionary("uncorrected").map(({ term }) => term)).toContain("ECC uncorrected");
  expect(searchDictionary(" ")).toEqual(dictionary);
});

test("every entry has a meaning, and no term occurs twice", () => {
  expect(dictionary.filter(({ meaning }) => meaning.length < 20)).toEqual([]);
  expect(new Set(dictionary.map(({ term }) => term)).size).toBe(dictionary.length);
});
