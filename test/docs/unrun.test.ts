// Each shell command of README and docs is run by the docs test, or has its reason in the table of unrun.ts.

import { existsSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { repository } from "../../engines/program.ts";
import { codeBlocks, pages } from "./pages.ts";
import { onlyAsks, quickStart, shellCommands, unseen } from "./quick-start.ts";
import { UNRUN, unrunReason } from "./unrun.ts";

const SHELLS = new Set(["sh", "bash", "shell", "console"]);
const blocks = pages().flatMap(({ file, text }) =>
  codeBlocks(text)
    .filter(({ language }) => SHELLS.has(language))
    .map(({ marks, code }) => ({ file, marks, commands: shellCommands(code) })),
);

test("each shell block is marked as run, or the table has a reason for each of its commands", () => {
  const unlisted = blocks
    .filter(({ marks }) => marks[0] !== "run")
    .flatMap(({ file, commands }) => commands.map((command) => ({ file, command })))
    .filter(({ command }) => unrunReason(command) === undefined);
  expect(unlisted).toEqual([]);
});

test("a block marked as run has at least one command that runs", () => {
  const idle = blocks.filter(
    ({ marks, commands }) =>
      marks[0] === "run" && commands.every((command) => unrunReason(command) !== undefined),
  );
  expect(idle).toEqual([]);
});

test("each reason of the table is needed, and its test exists", () => {
  const commands = blocks.flatMap((block) => block.commands);
  const unused = UNRUN.filter(({ pattern }) => !commands.some((command) => pattern.test(command)));
  expect(unused.map(({ pattern }) => pattern)).toEqual([]);
  const missing = UNRUN.flatMap(({ testedBy }) => testedBy ?? []).filter(
    (file) => !existsSync(path.join(repository, file)),
  );
  expect(missing).toEqual([]);
});

test.for([
  ["a\n# comment's end\nb # it's\n", ["a", "b # it's"]],
  ["a \\\n  b\nc\n", ["a \\\n  b", "c"]],
  ["curl -d '{\n}'\nls\n", ["curl -d '{\n}'", "ls"]],
  ["cat > x <<'END'\nit's\nEND\nls\n", ["cat > x <<'END'\nit's\nEND", "ls"]],
] as const)("%j has the commands %j", ([code, commands]) => {
  expect(shellCommands(code)).toEqual(commands);
});

test("a block that is run is followed by what is seen of it, and others are left alone", () => {
  const text = [
    "```sh\nrm -rf lake\n```",
    "```sh run keep\nnpm start\n```",
    "```sh run\ngpulse query up\n```",
    "```text see\nup{…} 1\n```",
  ].join("\n");
  expect(quickStart(text)).toEqual([
    { commands: "npm start\n", mode: "keep", see: [] },
    { commands: "gpulse query up\n", mode: "block", see: ["up{…} 1"] },
  ]);
});

test.for([
  ["SERIES VALUE", "SERIES      VALUE\n", []],
  ['up{job="…"} 1', 'up{job="gpu"}   1\n', []],
  ['up{job="…"} 1', 'up{job="gpu"}   0\n', ['up{job="…"} 1']],
  ["a … b", "a\nb\n", ["a … b"]],
] as const)("%s in %j", ([line, output, missing]) => {
  expect(unseen([line], output)).toEqual(missing);
});

test.for([
  ["npx gpulse query up\ncurl -s http://a/ | grep x\n", true],
  ["gpulse top --once\n", true],
  ["gpulse pipe --from sim:2\n", false],
  ["gpulse query up\nls lake\n", false],
] as const)("%j only asks: %s", ([commands, answer]) => {
  expect(onlyAsks(commands)).toBe(answer);
});
