import { expect, test } from "vitest";
import { fillLegend, fillVariables } from "./board.ts";

const variables = [{ name: "host" }, { name: "model" }, { name: "one", single: true }] as const;
const fill = (query: string, chosen: Record<string, string> = {}, rangeMs = 3_600_000): string =>
  fillVariables(query, variables, new Map(Object.entries(chosen)), rangeMs);

test.each([
  ['x{host=~"$host"}', {}, 'x{host=~".*"}'],
  ['x{host="$host"}', {}, 'x{host=~".*"}'],
  ['x{host=~"$one|$host"}', { host: "a" }, 'x{host=~"|a"}'],
  ['x{host="$one"}', { one: "b" }, 'x{host=~"b"}'],
  ['x{host!="$host"}', { host: "a" }, 'x{host!~"a"}'],
  ['x{host=~"$host"}', { host: "node.1" }, String.raw`x{host=~"node\\.1"}`],
  ['x{host=~"$host"}', { host: 'a"} or vector(1' }, String.raw`x{host=~"a\"\\} or vector\\(1"}`],
  ['x{host=~"$hosts"}', { host: "a" }, 'x{host=~"$hosts"}'],
  ["rate(x[$rate]) + y[$range]", {}, "rate(x[60s]) + y[3600s]"],
  ["avg_over_time(x[$step])", {}, "avg_over_time(x[$step])"],
])("%s with %j is asked as %s", (query, chosen, expected) => {
  expect(fill(query, chosen)).toBe(expected);
});

test("a rate over a long range looks back as far as its points are apart", () => {
  expect(fill("rate(x[$rate])", {}, 30 * 86_400_000)).toBe("rate(x[10368s])");
});

test("a legend takes the labels that a series has", () => {
  expect(fillLegend("{{host}} GPU {{ gpu }} {{none}}", { host: "a", gpu: "3" })).toBe("a GPU 3");
});
