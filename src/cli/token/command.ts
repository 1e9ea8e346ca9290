/** `gpulse token`: the tokens of agents, receivers and readers. */
import type { Command } from "commander";
import { scopes } from "../../access/scope.ts";
import { choice } from "../command/choice.ts";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { TokenAddFlags, TokenFlags } from "./run.ts";

export function declareToken(program: Command, io: CommandIo, finish: Finish): void {
  const token = program
    .command("token")
    .summary("manage the tokens of agents, receivers and readers")
    .description(
      "Works on the hub's data folder, whether the hub runs or not. A running hub applies changes within a second.",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse token add gpu-node-1 --url https://hub.example:9410\n  gpulse token list\n  gpulse token revoke gpu-node-1",
    );
  addFlags(
    token
      .command("add")
      .summary("create a token and print it once")
      .description(
        "Scopes: push may only send samples; read may query, open the page and read /metrics; admin may do everything. " +
          "Prints the command that starts an agent with this token.",
      )
      .argument("<name>", "name of the token, such as the machine that uses it"),
    ["data", "config"],
  )
    .addOption(choice("--scope <scope>", "scope", scopes, "push"))
    .option("--expires <duration>", "expiry, such as 30d (default: never)")
    .option(
      "--url <url>",
      "the hub's address in the printed command (default: where the hub listens)",
    )
    .option("--token <where>", "file:PATH of an existing token (default: a random one)")
    .option("--json", "print JSON")
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
      .summary("list the tokens, without their secrets")
      .description("Revoked and expired tokens are listed for 90 days."),
    ["data", "config"],
  )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse token list\n  gpulse token list --json")
    .action((flags: TokenFlags) =>
      finish(async () => (await import("./run.ts")).listTokens(flags, io)),
    );
  addFlags(
    token
      .command("revoke")
      .summary("revoke a token permanently")
      .description(
        "Requests with the token are refused within a second; its sessions and streams end.",
      )
      .argument("<name>", "name or id of the token"),
    ["data", "config"],
  )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse token revoke gpu-node-1")
    .action((name: string, flags: TokenFlags) =>
      finish(async () => (await import("./run.ts")).revokeToken(name, flags, io)),
    );
  addFlags(
    token
      .command("recover")
      .summary("repair damaged files of tokens, users and links")
      .description(
        "For a hub that does not start, or refuses every request, because a file of its access folder is damaged. Moves the " +
          "damaged file aside. Readable entries are retained but disabled: tokens and links are revoked, users become " +
          "disabled viewers without a password. Intact files are not changed.",
      ),
    ["data", "config"],
  )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse token recover\n  gpulse token add ada --scope admin",
    )
    .action((flags: TokenFlags) =>
      finish(async () => (await import("./run.ts")).recoverTokens(flags, io)),
    );
}
