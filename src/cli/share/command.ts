/** `gpulse share`: read-only links to a view, with an expiry. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { ShareAddFlags, ShareFlags } from "./run.ts";

export function declareShare(program: Command, io: CommandIo, finish: Finish): void {
  const share = program
    .command("share")
    .summary("manage read-only links that expire")
    .description(
      "Works on the hub's data folder, whether the hub runs or not. A running hub applies changes within a second.",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse share add --name 'for the vendor' --expires 2d\n  gpulse share list\n  gpulse share revoke 'for the vendor'",
    );
  addFlags(
    share
      .command("add")
      .summary("create a link and print it once")
      .description(
        "Everyone with the link can view the page, but not the configuration of the hub, and can change nothing.",
      ),
    ["data", "config"],
  )
    .option("--name <name>", "name of the link (default: shared view)")
    .option("--page <page>", "page to open, such as '/gpu?uuid=…' (default: /)")
    .option("--expires <duration>", "expiry, at most 90d (default: 7d)")
    .option("--url <url>", "the hub's address in the link (default: where the hub listens)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse share add --name 'for the vendor' --page '/gpu?uuid=GPU-1' --expires 2d\n  gpulse share add --url https://hub.example:9410",
    )
    .action((flags: ShareAddFlags) =>
      finish(async () => (await import("./run.ts")).addShare(flags, io)),
    );
  addFlags(
    share
      .command("list")
      .summary("list the links, without their secrets")
      .description(
        "Shows how often each link was opened. Expired and revoked links are listed for 90 days.",
      ),
    ["data", "config"],
  )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse share list\n  gpulse share list --json")
    .action((flags: ShareFlags) =>
      finish(async () => (await import("./run.ts")).listShares(flags, io)),
    );
  addFlags(
    share
      .command("revoke")
      .summary("revoke a link permanently")
      .description("Open pages stop showing data within a second.")
      .argument("<name>", "name or id of the link"),
    ["data", "config"],
  )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse share revoke 'for the vendor'")
    .action((name: string, flags: ShareFlags) =>
      finish(async () => (await import("./run.ts")).revokeShare(name, flags, io)),
    );
}
