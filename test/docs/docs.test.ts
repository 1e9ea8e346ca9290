import { readFileSync } from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { expect, test } from "vitest";

import { repository } from "../../engines/program.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { processIo } from "../../src/cli/command/process-io.ts";
import { complaint, shellWords, findCommands } from "./commands.ts";
import { brokenLinks } from "./links.ts";
import { pages, readPage } from "./pages.ts";

const { program } = buildProgram(processIo());

test("every relative link in the documentation resolves, with its anchor", () => {
  expect(pages().flatMap(brokenLinks)).toEqual([]);
});

test("every gpulse command shown in the documentation exists with its flags", () => {
  const wrong = pages().flatMap(({ file, text }) =>
    findCommands(text).gpulse.flatMap((args) => {
      const reason = complaint(program, args);
      return reason === undefined ? [] : [`${file}: gpulse ${args.join(" ")}: ${reason}`];
    }),
  );
  expect(wrong).toEqual([]);
});

test("every guide and start page is in the index", () => {
  const index = readPage("docs/README.md").text;
  const wanted = pages().filter(({ file }) => /^docs\/(?:start|guides|runbook)\//.test(file));
  expect(wanted.filter(({ file }) => !index.includes(`(${file.slice(5)})`))).toEqual([]);
});

test("the documentation shows gpulse commands at all", () => {
  expect(pages().flatMap(({ text }) => findCommands(text).gpulse).length).toBeGreaterThan(3);
});

// gpulse is not published: a package of that name on the registry would be somebody else's.
test("no page says to install gpulse from the npm registry", () => {
  const fromRegistry =
    /npm (?:i|install|add)(?: +-{1,2}[\w=/~.-]+)* +gpulse\b(?!-\d)|npx (?:--yes|-y) +gpulse/;
  expect("npm install -g gpulse").toMatch(fromRegistry);
  expect("npm install --global --prefix ~/.local ./gpulse-0.2.0.tgz").not.toMatch(fromRegistry);
  expect(pages().filter(({ text }) => fromRegistry.test(text))).toEqual([]);
});

test("every npm script shown in the documentation exists", () => {
  const manifest = readFileSync(path.join(repository, "package.json"), "utf8");
  const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> };
  const wrong = pages().flatMap(({ file, text }) =>
    findCommands(text)
      .npmScripts.filter((name) => !(name in scripts))
      .map((name) => `${file}: npm run ${name}`),
  );
  expect(wrong).toEqual([]);
});

const sample = new Command("gpulse");
sample.command("up").option("--port <number>").option("--no-open");
sample.command("config").command("check").argument("[file]");

test.for([
  ["up --port 9500", undefined],
  ["--port=9500 --no-open", undefined],
  ["config check gpulse.yaml", undefined],
  ["up --prot 9500", "up has no flag --prot"],
  ["up --port", "--port needs a value"],
  ["fly", "gpulse knows no fly"],
  ["config check a b", "check knows no b"],
])("gpulse %s: %s", ([line = "", reason]) => {
  expect(complaint(sample, line.split(" "))).toBe(reason);
});

test("commands are found in blocks, behind pipes and prompts, and in inline code", () => {
  const text = [
    "Run `gpulse doctor`, then read `gpulse.yaml`.",
    "```console",
    "$ LOG_LEVEL=debug npx gpulse agent --port 9500 | head  # look",
    "gpulse is not a command in output",
    "```",
    "```sh",
    "npm start -- --no-open && npm run check",
    "```",
  ].join("\n");
  expect(findCommands(text)).toEqual({
    gpulse: [["agent", "--port", "9500"], ["up", "--no-open"], ["doctor"]],
    npmScripts: ["check"],
  });
});

test("a link to a missing file, a missing heading or out of the repository is found", () => {
  const text =
    "# One\n[a](missing.md) [b](#one) [c](#two) [d](../outside.md) [e](https://example.org) `[f](x.md)`";
  expect(brokenLinks({ file: "README.md", text })).toEqual([
    "README.md: missing.md is not there",
    "README.md: #two names no heading",
    "README.md: ../outside.md leads out of the repository",
  ]);
});

test("a quoted word stays one word", () => {
  expect(shellWords("gpulse up --source 'sim:2?scenario=stress'")).toEqual([
    ["gpulse", "up", "--source", "sim:2?scenario=stress"],
  ]);
});
