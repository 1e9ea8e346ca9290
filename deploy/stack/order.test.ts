import { expect, test } from "vitest";

import { inOrder, withSkips } from "./order.ts";
import type { Declared } from "./service.ts";

const service = (name: string, ...dependsOn: string[]): Declared => ({
  name,
  summary: name,
  command: ["true"],
  address: "",
  health: { kind: "tcp", port: 1 },
  dependsOn,
  memoryLimitBytes: 1,
});
const names = (list: readonly Declared[]): string => list.map(({ name }) => name).join(" ");

test("what is depended on starts first, and the rest keeps its order", () => {
  const declared = [
    service("load", "gateway"),
    service("gateway", "redis", "postgres"),
    service("node"),
    service("postgres"),
    service("redis"),
  ];
  expect(names(inOrder(declared))).toBe("redis postgres gateway load node");
});

test("a circle, a name nobody has and a name twice are mistakes of ours", () => {
  expect(() => inOrder([service("a", "b"), service("b", "a")])).toThrow(
    "BUG: a needs b needs a: a circle",
  );
  expect(() => inOrder([service("a", "nobody")])).toThrow("a depends on nobody");
  expect(() => inOrder([service("a"), service("a")])).toThrow("same name");
});

test("what needs a service that cannot run cannot run either, and says so", () => {
  const declared = [
    { name: "redis", summary: "", skipped: "not installed" },
    service("gateway", "redis"),
    service("load", "gateway"),
    service("node"),
  ];
  const reported = withSkips(declared).map((one) =>
    "skipped" in one ? `${one.name}: ${one.skipped}` : one.name,
  );
  expect(reported).toEqual([
    "redis: not installed",
    "gateway: needs redis",
    "load: needs gateway",
    "node",
  ]);
});
