// The arguments of documented commands are valid: source and sink URLs, PromQL.

import { expect, test } from "vitest";

import { parse as parsePromql } from "../../src/query/parse/parse.ts";
import { parseSink } from "../../src/sinks/open.ts";
import { parseSource } from "../../src/sources/open.ts";
import { findCommands } from "./commands.ts";
import { pages } from "./pages.ts";

const parsers: Readonly<Record<string, (url: string) => unknown>> = {
  "--source": parseSource,
  "--from": parseSource,
  "--to": parseSink,
};
/** Not `auto`, `none`, or a placeholder in upper case. */
const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]*:/.test(text);

test("every source and sink URL shown in the documentation is understood", () => {
  let count = 0;
  const wrong = pages().flatMap(({ file, text }) =>
    findCommands(text).gpulse.flatMap((args) =>
      args.flatMap((arg, at) => {
        const [flag = "", inline] = arg.split(/=(.*)/s);
        const value = inline ?? args[at + 1] ?? "";
        const parse = parsers[flag];
        if (parse === undefined || !isUrl(value)) return [];
        count++;
        try {
          parse(value);
          return [];
        } catch (thrown) {
          return [`${file}: ${args.join(" ")}: ${String(thrown)}`];
        }
      }),
    ),
  );
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(20);
});

test("every expression of gpulse query shown in the documentation is PromQL", () => {
  const expressions = pages().flatMap(({ file, text }) =>
    findCommands(text).gpulse.flatMap(([command, expression = ""]) =>
      command === "query" && /^[^-[<]/.test(expression) ? [{ file, expression }] : [],
    ),
  );
  expect(expressions.length).toBeGreaterThan(5);
  for (const { file, expression } of expressions)
    expect(() => parsePromql(expression), `${file}: ${expression}`).not.toThrow();
});
