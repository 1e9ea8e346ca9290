/** `gpulse completion`: shell scripts that complete commands, options and values. */
import { Argument, type Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";

const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function declareCompletion(program: Command, io: CommandIo, finish: Finish): void {
  program
    .command("completion")
    .summary("print a completion script for bash, zsh or fish")
    .description(
      "Prints a script that completes commands, options and their values. The script is static: pressing Tab starts no gpulse.",
    )
    .addArgument(new Argument("<shell>", "the shell: bash, zsh or fish").choices([...shells]))
    .addHelpText(
      "after",
      `
Install for your user:
  bash   gpulse completion bash > ~/.local/share/bash-completion/completions/gpulse
         (without the bash-completion package: add the line of the example below to ~/.bashrc)
  zsh    gpulse completion zsh > ~/.zfunc/_gpulse
         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish   gpulse completion fish > ~/.config/fish/completions/gpulse.fish

Examples:
  source <(gpulse completion bash)    complete in this bash
  source <(gpulse completion zsh)     complete in this zsh, after compinit
  gpulse completion fish | source     complete in this fish`,
    )
    .action((shell: Shell) =>
      finish(async () => {
        const { completionScript } = await import("./run.ts");
        io.stdout.write(completionScript(shell, program));
      }),
    );
}
