/** `gpulse share`: read-only links to a view, with an expiry. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { ShareAddFlags, ShareFlags } from "./run.ts";

export function declareShare(program: Command, io: CommandIo, finish: Finish): void {
  const share = program
    .command("share")
    .summary("make read-only links to a view that end by themselves")
    .description(
      "Works on the hub's data folder, whether the hub runs or not; a running one takes a change up within a second.",
    );
  addFlags(
    share
      .command("add")
      .summary("make a link and print it, this once")
      .description(
        "Who has the link sees what a viewer sees, but for how the hub is set up, and changes nothing.",
      ),
    ["data", "config"],
  )
    .option("--name <name>", "what to call it (default: shared view)")
    .option("--page <page>", "the page it leads to, such as '/gpu?uuid=…' (default: /)")
    .option("--expires <duration>", "when it ends, within 90d (default: 7d)")
    .option("--url <url>", "the hub's address as its reader sees it, for the printed link")
    .option("--json", "print it for a program")
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
      .summary("show the links, never their secret")
      .description("With how often each was opened. Ended ones are shown for 90 days."),
    ["data", "config"],
  )
    .option("--json", "print them for a program")
    .addHelpText("after", "\nExamples:\n  gpulse share list\n  gpulse share list --json")
    .action((flags: ShareFlags) =>
      finish(async () => (await import("./run.ts")).listShares(flags, io)),
    );
  addFlags(
    share
      .command("revoke")
      .summary("end a link, for good")
      .description("Open pages stop showing data within a second.")
      .argument("<name>", "its name or its id"),
    ["data", "config"],
  )
    .option("--json", "print what was revoked for a program")
    .addHelpText("after", "\nExamples:\n  gpulse share revoke 'for the vendor'")
    .action((name: string, flags: ShareFlags) =>
      finish(async () => (await import("./run.ts")).revokeShare(name, flags, io)),
    );
}
