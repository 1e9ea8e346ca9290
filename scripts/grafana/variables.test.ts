import { expect, test } from "vitest";
import { anyOf, substitute, usedVariables } from "./variables.ts";

const values = { host: ".*", __range: "1h" };

test.for([
  ['gpu_up{host=~"$host"}', 'gpu_up{host=~".*"}'],
  ["x[$__range]", "x[1h]"],
  ["${host:regex} and ${host}", ".* and .*"],
  ["no variable", "no variable"],
])("%s becomes %s", ([text = "", filled]) => {
  expect(substitute(text, values)).toBe(filled);
});

test("a variable without a value is an error, never left as it is", () => {
  expect(() => substitute('gpu_up{gpu="$gpu"}', values)).toThrow("nothing to put in for $gpu");
});

test("the names of variables are found in every way they are written", () => {
  expect(usedVariables('a{x="$one",y=~"${two}"}[$__range] ${three:regex}')).toEqual([
    "one",
    "two",
    "__range",
    "three",
  ]);
});

test("several values are a pattern that means each of them literally", () => {
  expect(anyOf(["node-1.lab", "b"])).toBe("(node-1\\\\.lab|b)");
});
