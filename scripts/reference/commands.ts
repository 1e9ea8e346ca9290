/** docs/reference/commands.md: the output of --help, so that the two cannot diverge. */
import { PassThrough } from "node:stream";
import type { Command } from "commander";
import { buildProgram } from "../../src/cli/program.ts";
import { generatedNote } from "./markdown.ts";

export function commandsPage(): string {
  const { program } = buildProgram({
    env: {},
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    version: "",
    stopped: () => new Promise(() => {}),
  });
  const parts = [
    "# Commands",
    "",
    generatedNote,
    "",
    "Exit codes: 0 well, 1 it failed or the answer is no, 2 it cannot be done as written.",
    "",
  ];
  parts.push(...section("gpulse", program));
  return parts.join("\n");
}

function section(name: string, command: Command): string[] {
  const lines = [`## ${name}`, "", "```text", fullHelp(command), "```", ""];
  return [
    ...lines,
    ...command.commands
      .filter((child) => child.name() !== "help")
      .flatMap((child) => section(`${name} ${child.name()}`, child)),
  ];
}

/** The help text including its appended notes, at a fixed width. */
function fullHelp(command: Command): string {
  let text = "";
  command.configureOutput({
    writeOut: (piece) => (text += piece),
    getOutHelpWidth: () => 100,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text.trim();
}
