/** `gpulse user`: the people who log in to a hub with a password. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { UserAddFlags, UserFlags, UserPasswordFlags } from "./run.ts";

const passwordHelp = "file:PATH that holds it (default: asked for, or read from standard input)";

export function declareUser(program: Command, io: CommandIo, finish: Finish): void {
  const user = program
    .command("user")
    .summary("say who logs in to the hub with a password")
    .description(
      "Works on the hub's data folder, whether the hub runs or not; a running one takes a change up within a second.",
    );
  const shared = ["data", "config"] as const;
  addFlags(
    user
      .command("add")
      .summary("make a user")
      .description(
        "Roles: a viewer sees everything and changes nothing; an admin does everything.\n" +
          "The password is asked for twice and not shown; it has at least 10 characters.",
      )
      .argument("<name>", "what they are called"),
    shared,
  )
    .option("--role <role>", "viewer or admin (default: viewer)")
    .option("--password <where>", passwordHelp)
    .option("--json", "print what was made for a program")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse user add ada --role admin\n  gpulse user add wall --password file:wall-password.txt",
    )
    .action((name: string, flags: UserAddFlags) =>
      finish(async () => (await import("./run.ts")).addUser(name, flags, io)),
    );
  addFlags(
    user
      .command("list")
      .summary("show the users, never their passwords")
      .description("Of a web configuration file's users, that file is the list."),
    shared,
  )
    .option("--json", "print them for a program")
    .addHelpText("after", "\nExamples:\n  gpulse user list\n  gpulse user list --json")
    .action((flags: UserFlags) =>
      finish(async () => (await import("./run.ts")).listUsers(flags, io)),
    );
  addFlags(
    user
      .command("password")
      .summary("give a user another password")
      .description("Ends every session of theirs within a second.")
      .argument("<name>", "whose"),
    shared,
  )
    .option("--password <where>", passwordHelp)
    .option("--json", "print what was changed for a program")
    .addHelpText("after", "\nExamples:\n  gpulse user password ada")
    .action((name: string, flags: UserPasswordFlags) =>
      finish(async () => (await import("./run.ts")).changePassword(name, flags, io)),
    );
  const ends = "Ends the sessions and streams of the user within a second.";
  const enables = "The user can log in again with the password they had.";
  const changes = [
    ["role", "make a user viewer or admin", ends, "gpulse user role ada viewer"],
    ["disable", "keep a user out, until enabled again", ends, "gpulse user disable ada"],
    ["enable", "let a disabled user log in again", enables, "gpulse user enable ada"],
    ["remove", "remove a user, for good", ends, "gpulse user remove ada"],
  ] as const;
  for (const [verb, summary, description, example] of changes) {
    const command = user
      .command(verb)
      .summary(summary)
      .description(description)
      .argument("<name>", "the user");
    if (verb === "role") command.argument("<role>", "viewer or admin");
    addFlags(command, shared)
      .option("--json", "print what was changed for a program")
      .addHelpText("after", `\nExamples:\n  ${example}`)
      .action((name: string, ...rest: readonly unknown[]) =>
        finish(async () => {
          const { changeUser } = await import("./run.ts");
          const [first, second] = rest;
          return typeof first === "string"
            ? changeUser(verb, name, second as UserFlags, io, first)
            : changeUser(verb, name, first as UserFlags, io);
        }),
      );
  }
  addFlags(
    user
      .command("sessions")
      .summary("show who is logged in to the page")
      .description(
        "Also those whom an OpenID provider, a token or the web configuration file let in.",
      ),
    shared,
  )
    .option("--json", "print them for a program")
    .addHelpText("after", "\nExamples:\n  gpulse user sessions\n  gpulse user sessions --json")
    .action((flags: UserFlags) =>
      finish(async () => (await import("./sessions.ts")).listSessions(flags, io)),
    );
  addFlags(
    user
      .command("logout")
      .summary("end every session of somebody")
      .description(
        "Ends the sessions and streams they have open within a second, also of somebody an OpenID provider let in.\n" +
          "Who may log in again is a provider's to say: shut them out there first.",
      )
      .argument("<name>", "whose"),
    shared,
  )
    .option("--json", "print what was ended for a program")
    .addHelpText("after", "\nExamples:\n  gpulse user logout ada")
    .action((name: string, flags: UserFlags) =>
      finish(async () => (await import("./sessions.ts")).logOut(name, flags, io)),
    );
}
