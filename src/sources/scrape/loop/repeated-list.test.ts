import { expect, test } from "vitest";
import { RepeatedList } from "./repeated-list.ts";

const last = ["a", "b", "c"];

function listOf(items: readonly string[], before: readonly string[]): readonly string[] {
  const list = new RepeatedList(before);
  items.forEach((item, index) => expect(list.push(item)).toBe(index));
  return list.finish();
}

test("the same items in the same order are the last list itself", () => {
  expect(listOf(["a", "b", "c"], last)).toBe(last);
  expect(listOf([], [])).toEqual([]);
});

test.each([
  [[]],
  [["a"]],
  [["a", "b"]],
  [["b", "a", "c"]],
  [["a", "x", "c"]],
  [["x", "a", "b", "c"]],
  [["a", "b", "c", "d", "e"]],
])("%j is a list of its own, and the last one stays as it was", (items) => {
  expect(listOf(items, last)).toEqual(items);
  expect(last).toEqual(["a", "b", "c"]);
});
