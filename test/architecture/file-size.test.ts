// Limits files to 500 lines, except for tables: longer ones deter newcomers.

import { expect, test } from "vitest";

import { readSource, sourceFiles } from "./source-tree.ts";

const LIMIT_LINES = 500;

/** Files that are a single table; each must still exist and still be long. */
const TABLES: readonly string[] = [];

const FOLDERS = ["src", "web/src", "scripts", "engines", "bench", "deploy", "test"];

function lineCount(file: string): number {
  return readSource(file).split("\n").length - 1;
}

test(`no source file is longer than ${LIMIT_LINES} lines`, () => {
  const long = FOLDERS.flatMap(sourceFiles)
    .filter((file) => lineCount(file) > LIMIT_LINES)
    .filter((file) => !TABLES.includes(file))
    .map((file) => `${file} has ${lineCount(file)} lines`);
  expect(long).toEqual([]);
});

test("every table named as an exception is one", () => {
  const short = TABLES.filter((file) => lineCount(file) <= LIMIT_LINES);
  expect(short).toEqual([]);
});
