/** `gpulse token`: who may send to a hub, read it or change it. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { TokenAddFlags, TokenFlags } from "./run.ts";

export function declareToken(program: Command, io: CommandIo, finish: Finish): void {
  const token = program
    .command("token")
    .summary("say who may send to the hub, read it or change it")
    .description(
      "Works on the hub's data folder, whether the hub runs or not; a running one takes a change up within a second.",
    );
  addFlags(
    token
      .command("add")
      .summary("make a token and print it, this once")
      .description(
        "Scopes: push sends samples in and nothing else; read is queries, the page and /metrics; admin is everything.\n" +
          "Prints the line that adds a machine, with the token in it.",
      )
      .argument("<name>", "what to call it, such as the machine that will hold it"),
    ["data", "config"],
  )
    .option("--scope <scope>", "push, read or admin (default: push)")
    .option("--expires <duration>", "when it ends by itself, such as 30d (default: never)")
    .option("--url <url>", "the hub's address as other machines see it, for the printed line")
    .option("--token <where>", "file:PATH of a token created elsewhere, instead of a random one")
    .option("--json", "print it for a program")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse token add gpu-node-1 --url https://hub.example:9410\n  gpulse token add grafana --scope read --expires 90d",
    )
    .action((name: string, flags: TokenAddFlags) =>
      finish(async () => (await import("./run.ts")).addToken(name, flags, io)),
    );
  addFlags(
    token
      .command("list")
      .summary("show the tokens, never their text")
      .description("Revoked and expired ones are shown for 90 days."),
    ["data", "config"],
  )
    .option("--json", "print them for a program")
    .addHelpText("after", "\nExamples:\n  gpulse token list\n  gpulse token list --json")
    .action((flags: TokenFlags) =>
      finish(async () => (await import("./run.ts")).listTokens(flags, io)),
    );
  addFlags(
    token
      .command("revoke")
      .summary("end a token, for good")
      .description(
        "Requests with it are refused within a second, and its sessions and streams end.",
      )
      .argument("<name>", "its name or its id"),
    ["data", "config"],
  )
    .option("--json", "print what was revoked for a program")
    .addHelpText("after", "\nExamples:\n  gpulse token revoke gpu-node-1")
    .action((name: string, flags: TokenFlags) =>
      finish(async () => (await import("./run.ts")).revokeToken(name, flags, io)),
    );
  addFlags(
    token
      .command("recover")
      .summary("make damaged files of access usable again")
      .description(
        "For a hub that refuses to start, or refuses everybody, because a file of its access folder is damaged. The damaged\n" +
          "file is set aside. What can still be read of it is retained, but ended: tokens and links are revoked, users are\n" +
          "disabled viewers without a password. Files that are not damaged stay as they are.",
      ),
    ["data", "config"],
  )
    .option("--json", "print the recovered files for a program")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse token recover\n  gpulse token add ada --scope admin",
    )
    .action((flags: TokenFlags) =>
      finish(async () => (await import("./run.ts")).recoverTokens(flags, io)),
    );
}
