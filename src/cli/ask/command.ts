/** `gpulse ask`: questions in plain language, matched to tools by a small grammar. No language model is involved. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { AskFlags } from "./run.ts";

export function declareAsk(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("ask")
    .summary("answer a question in plain words")
    .description(
      "Matches the question to one of the tools of gpulse mcp by a small grammar, runs it, and shows which one it ran. It is not a language model: for other questions it lists those it supports.",
    )
    .argument("[question...]", "the question; without one, lists the supported questions")
    .option(...hubUrlOption)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  gpulse ask hottest gpu
  gpulse ask who uses gpu-node-3
  gpulse ask energy of job 4711
  gpulse ask "which gpus are idle"
  gpulse ask why is gpu-node-3 slow`,
    )
    .action((words: readonly string[], flags: AskFlags) =>
      finish(async () => (await import("./run.ts")).runAsk(words.join(" "), flags, io)),
    );
  addClientFlags(command);
}
