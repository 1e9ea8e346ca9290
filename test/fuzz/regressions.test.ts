// Bugs that the fuzzer found and that no stored input reaches alone, one test each.

import * as v from "valibot";
import { expect, test } from "vitest";

import { networkOf } from "../../src/access/failures.ts";
import { closest } from "../../src/config/closest.ts";
import { checkText } from "../../src/config/file.ts";
import { GpulseError } from "../../src/base/error.ts";
import { readPartialSuccess } from "../../src/formats/otlp/encode/json.ts";
import { wordsOf } from "../../src/storage/remote/connection.ts";
import { parseAlertmanagerTarget } from "../../src/hub/alerts/alertmanager-targets.ts";
import { ParseError } from "../../src/query/errors.ts";
import { parse } from "../../src/query/parse/parse.ts";
import { readDocument } from "../../src/config/yaml/document.ts";
import { parseSource } from "../../src/sources/open.ts";
import { parseScenario } from "../../src/sources/sim/scenario/load.ts";
import { parseDirectory } from "../../src/storage/embedded/blocks/directory.ts";
import { BlockDamagedError, type Footer } from "../../src/storage/embedded/blocks/format.ts";
import { writeVarint } from "../../src/storage/embedded/codec/varint.ts";

test("an answer to OTLP that is null says nothing was refused", () => {
  for (const body of [
    "null",
    "1",
    '{"partialSuccess":null}',
    '{"partialSuccess":{"errorMessage":7}}',
  ])
    expect(readPartialSuccess(Buffer.from(body), true)).toEqual({ rejected: 0, message: "" });
});

test("a pattern that would swallow what makes it match the whole is refused with the query", () => {
  expect(() => parse(String.raw`up{a=~"\\Q"}`)).toThrow(ParseError);
});

test("an alias that names nothing is a mistake in a scenario", () => {
  expect(() => parseScenario("*nowhere", "s.yaml")).toThrow(GpulseError);
});

test("YAML nested too deeply is a mistake in a file, not a fault", async () => {
  const deep = "a:\n - ".repeat(50) + "- ".repeat(60_000);
  await expect(readDocument(deep, "r.yml")).rejects.toThrow(GpulseError);
  expect((await checkText(deep, "g.yaml", v.unknown(), {})).ok).toBe(false);
  expect(() => parseScenario(deep, "s.yaml")).toThrow(GpulseError);
});

test("what hides secrets in an address takes no time in the square of it, and still hides them", () => {
  expect(() => parseSource("?s".repeat(100_000))).toThrow(GpulseError);
  expect(() => parseSource("nowhere:x?a=b&my-token=hunter2")).toThrow(/^(?!.*hunter2)/s);
});

test("a word of thousands of letters has no near name", () => {
  expect(closest("ab".repeat(50_000), ["abab", "power"])).toBeUndefined();
  expect(closest("powr", ["power", "tower of many"])).toBe("power");
});

test("an engine's words between quotes that are no JSON are shown as they stand", () => {
  const body = Buffer.from('{"error":"a\u0001b"}');
  expect(wordsOf({ status: 400, headers: {}, body, url: "http://127.0.0.1/" })).toBe("a\u0001b");
});

test.each(["", "http://%zz@127.0.0.1:9093"])("the Alertmanager address %o is refused", (given) => {
  expect(() => parseAlertmanagerTarget(given)).toThrow(GpulseError);
});

test("a client that has gone has no network, and breaks nothing", () => {
  expect(networkOf(undefined)).toBe("");
});

test("a block whose directory names a series beyond all numbers is damaged", () => {
  const bytes = Buffer.alloc(64);
  let end = writeVarint(bytes, 0, 1);
  for (const value of [2 ** 50, 0, 1]) end = writeVarint(bytes, end, value);
  const footer = { series: 1, pages: 1, timebases: 0 } as unknown as Footer;
  expect(() => parseDirectory(bytes.subarray(0, end), footer)).toThrow(BlockDamagedError);
});

test("a block with far gaps between its series is sorted all the same", () => {
  const bytes = Buffer.alloc(64);
  let end = writeVarint(bytes, 0, 2);
  // 60,000,000 and then 5, as zigzag differences.
  for (const value of [120_000_000, 0, 1, 2 * 59_999_995 - 1, 0, 1])
    end = writeVarint(bytes, end, value);
  const footer = { series: 2, pages: 1, timebases: 0 } as unknown as Footer;
  expect([...parseDirectory(bytes.subarray(0, end), footer).refs]).toEqual([5, 60_000_000]);
});
