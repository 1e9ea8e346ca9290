import type { Command } from "commander";
import { afterEach, expect, test, vi } from "vitest";
import type { CommandIo } from "./command/io.ts";
import { parseToExit } from "./command/parse.ts";
import { buildProgram } from "./program.ts";

const io: CommandIo = {
  env: {},
  stdout: process.stdout,
  stderr: process.stderr,
  version: "0.0.0",
  onReload: () => {},
  stopped: () => new Promise(() => {}),
};

afterEach(() => void vi.restoreAllMocks());

async function gpulse(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => (out += String(text)) !== "");
  vi.spyOn(process.stderr, "write").mockImplementation((text) => (err += String(text)) !== "");
  const { program, exitCode } = buildProgram(io);
  const parsed = await parseToExit(program, args);
  vi.restoreAllMocks();
  return { code: parsed === 0 ? exitCode() : parsed, out, err };
}

/** Every command and every command of a group, as the words that name it. */
function everyCommand(parent: Command = buildProgram(io).program): string[][] {
  return parent.commands.flatMap((command) => [
    [command.name()],
    ...everyCommand(command).map((words) => [command.name(), ...words]),
  ]);
}

test.for(everyCommand().map((words) => [words.join(" "), words] as const))(
  "gpulse %s --help and gpulse help %s show its own usage",
  async ([name, words]) => {
    const asFlag = await gpulse(...words, "--help");
    expect([asFlag.code, asFlag.err]).toEqual([0, ""]);
    expect(asFlag.out).toContain(`Usage: gpulse ${name} `);
    expect(await gpulse("help", ...words)).toEqual(asFlag);
    const [group = "", ...rest] = words;
    if (rest.length > 0) expect(await gpulse(group, "help", ...rest)).toEqual(asFlag);
  },
);

test.for([
  [["help", "nosuch"], 'gpulse: there is no command "nosuch". There are: up, agent, '],
  [["help", "agnet"], 'gpulse: there is no command "agnet". Did you mean "agent"?\n'],
  [
    ["help", "user", "enabel"],
    'there is no command of gpulse user "enabel". Did you mean "enable"?\n',
  ],
  [
    ["user", "help", "nosuch"],
    'there is no command of gpulse user "nosuch". There are: add, list, ',
  ],
  [["help", "agent", "nosuch"], 'there is no command of gpulse agent "nosuch".\n'],
  [["nosuch"], 'gpulse: there is no command "nosuch". There are: up, agent, '],
  [["query", "up", "--json", "--csv"], "'--json' cannot be used with option '--csv'"],
  [["top", "--once", "--json", "--csv"], "'--json' cannot be used with option '--csv'"],
  [
    ["runs", "list", "--folder", "/nonexistent/runs"],
    "There is no folder /nonexistent/runs: check the path",
  ],
] as const)("gpulse %j is a usage error", async ([args, sentence]) => {
  const { code, out, err } = await gpulse(...args);
  expect(err).toContain(sentence);
  expect([code, out]).toEqual([2, ""]);
});

test("a word that only looks like help stays an argument", async () => {
  const { err } = await gpulse("query", "help", "--json", "--csv");
  expect(err).toContain("cannot be used");
});

test("user enable does not claim to end sessions", async () => {
  expect((await gpulse("user", "enable", "--help")).out).not.toContain("Ends");
  expect((await gpulse("user", "disable", "--help")).out).toContain("Ends the sessions");
});
