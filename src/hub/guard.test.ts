import { expect, test } from "vitest";
import { hostOf, isForeign, isLoopback } from "./guard.ts";

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

test.each([
  [{ host: "127.0.0.1:9410" }, false],
  [{ host: "127.0.0.1:9410", origin: "http://127.0.0.1:9410" }, false],
  [{ host: "127.0.0.1:9410", origin: "http://127.0.0.1:3000" }, true],
  [{ host: "127.0.0.1:9410", origin: "https://example.org" }, true],
  [{ host: "127.0.0.1:9410", origin: "null" }, true],
  [{ host: "127.0.0.1:9410", "sec-fetch-site": "cross-site" }, true],
  [{ host: "127.0.0.1:9410", "sec-fetch-site": "same-origin" }, false],
])("headers %j come from another site: %s", (headers, foreign) => {
  expect(isForeign(headers)).toBe(foreign);
});

const behind = { host: "127.0.0.1:9410" };
test.each([
  [{ ...behind, origin: "https://gpus.example" }, false],
  [{ ...behind, origin: "https://gpus.example", "sec-fetch-site": "same-origin" }, false],
  [{ ...behind, origin: "http://127.0.0.1:9410" }, false],
  [{ ...behind, origin: "http://gpus.example" }, true],
  [{ ...behind, origin: "https://gpus.example:8443" }, true],
  [{ ...behind, origin: "https://gpus.example.evil.example" }, true],
  [{ ...behind, origin: "https://gpus.example", "sec-fetch-site": "cross-site" }, true],
  [{ ...behind, origin: "https://evil.example", "x-forwarded-host": "evil.example" }, true],
  [{ ...behind, origin: "null" }, true],
])(
  "behind a proxy of https://gpus.example headers %j come from another site: %s",
  (headers, foreign) => {
    expect(isForeign(headers, "https://gpus.example/gpus/")).toBe(foreign);
  },
);

test("what a proxy says it was asked for makes no page ours", () => {
  const headers = { ...behind, origin: "https://evil.example", "x-forwarded-host": "evil.example" };
  expect(isForeign(headers)).toBe(true);
});
