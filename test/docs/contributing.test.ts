import { existsSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { repository } from "../../engines/program.ts";
import { inlineCode, readPage } from "./pages.ts";

const PATH = /^(?:bench|deploy|docs|engines|scripts|src|test|web)\/[\w./-]*$/;
const BARE_FILE = /^[\w-]+\.(?:css|ts|tsx)$/;
const exists = (file: string): boolean => existsSync(path.join(repository, file));

/**
 * The paths of a text that do not exist. `NAME` is a placeholder for a contributor's addition: only the folder before it must
 * exist. A bare file name must be in a folder mentioned in the same line.
 */
function missingPaths(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const code = inlineCode(line);
    const paths = code.filter((word) => PATH.test(word));
    const folders = paths.map((word) => (path.extname(word) === "" ? word : path.dirname(word)));
    const isNew = paths.some((word) => word.includes("NAME"));
    return [
      ...paths.filter((word) => !exists(word.split("NAME")[0] ?? "")),
      ...code.filter(
        (word) =>
          BARE_FILE.test(word) && !isNew && !folders.some((folder) => exists(`${folder}/${word}`)),
      ),
    ];
  });
}

test("every file that CONTRIBUTING.md names exists", () => {
  expect(missingPaths(readPage("CONTRIBUTING.md").text)).toEqual([]);
});

test("CONTRIBUTING.md says how to add each kind of extension, and which tests check it", () => {
  const { text } = readPage("CONTRIBUTING.md");
  const sections = text.split(/^### /m).slice(1);
  expect(sections.map((section) => section.split("\n")[0])).toEqual([
    "A metric",
    "A vendor",
    "A source",
    "A sink",
    "A notification channel",
    "A page",
    "A command",
    "A setting",
  ]);
  expect(sections.filter((section) => !/\.test\.ts|the same as for/.test(section))).toEqual([]);
});

test.for([
  ["`src/cli/program.ts` and `src/cli/NAME/run.ts`", []],
  ["`src/no/such.ts`, `src/cli/nothing`", ["src/no/such.ts", "src/cli/nothing"]],
  ["in `src/model/catalogue`: `memory.ts`, `nothing.ts`", ["nothing.ts"]],
  ["`src/nowhere/NAME/define.ts`", ["src/nowhere/NAME/define.ts"]],
] as const)("%s: %j", ([text, missing]) => {
  expect(missingPaths(text)).toEqual(missing);
});
