import { expect, test } from "vitest";
import { addToHistory, readHistory } from "./history.ts";

test("a query run again moves to the front and is there once", () => {
  expect(addToHistory(["a", "b"], "b")).toEqual(["b", "a"]);
});

test("the last fifty queries are stored", () => {
  const many = Array.from({ length: 60 }, (_, at) => `q${at}`).reduce<readonly string[]>(
    addToHistory,
    [],
  );
  expect([many.length, many[0]]).toEqual([50, "q59"]);
});

test.each([null, "", "{", "5", '["a",1]'])("%j in the browser's storage does no harm", (stored) => {
  expect(readHistory(stored)).toEqual(stored === '["a",1]' ? ["a"] : []);
});
