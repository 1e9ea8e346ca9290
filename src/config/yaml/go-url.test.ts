import { expect, test } from "vitest";
import { goUrlProblem, isWebAddress } from "./go-url.ts";

test.each([
  "",
  "/write",
  "host",
  "localhost:9090/x",
  "ftp://h/x",
  "http://u:p@h:1/x?y=%zz#z",
  "http://[::1]:9/x",
  "http://$HOST/x",
  "http://h:/",
])("Go parses %j", (text) => {
  expect(goUrlProblem(text)).toBeUndefined();
});

test.each([
  ["127.0.0.1:9090/x", "its first part has a colon"],
  [":9090", "no scheme before the colon"],
  ["http://h:port/", "its host or port is not valid"],
  ["http://[::1", "its host or port is not valid"],
  ["http://h h/", "its host or port is not valid"],
  ["http://h/%zz", "a % without two hexadecimal digits"],
  ["http://h/\u0007", "a control character"],
])("Go refuses %j: %s", (text, says) => {
  expect(goUrlProblem(text)).toContain(says);
});

test.each([
  ["http://h", true],
  ["HTTPS://h:1/x", true],
  ["http://", false],
  ["localhost:1/x", false],
  ["", false],
])("%j can be asked over HTTP: %s", (text, wanted) => {
  expect(isWebAddress(text)).toBe(wanted);
});
