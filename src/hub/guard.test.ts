import { expect, test } from "vitest";
import { hostOf, isLoopback } from "./guard.ts";

test.each([
  ["localhost:9410", "localhost"],
  ["LOCALHOST", "localhost"],
  ["127.0.0.1:1", "127.0.0.1"],
  ["[::1]:9410", "[::1]"],
  ["evil.example:9410", "evil.example"],
  ["localhost:9410:1", ""],
  ["localhost@evil.example", "localhost@evil.example"],
  [undefined, ""],
])("the name in Host %s is %s", (header, name) => {
  expect(hostOf(header)).toBe(name);
});

test.each([
  ["localhost", true],
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["::1", true],
  ["[::1]", true],
  ["0.0.0.0", false],
  ["localhost.evil.example", false],
  ["127.0.0.1.evil.example", false],
  ["", false],
])("%s is loopback: %s", (host, loopback) => {
  expect(isLoopback(host)).toBe(loopback);
});
