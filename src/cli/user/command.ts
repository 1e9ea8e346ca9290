/** `gpulse user`: the users who log in to a hub with a password. */
import { Argument, type Command } from "commander";
import { choice, listWords } from "../command/choice.ts";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { UserAddFlags, UserFlags, UserPasswordFlags } from "./run.ts";

const roles = ["viewer", "admin"];

function roleArgument(): Argument {
  const argument = new Argument("<role>", listWords(roles));
  argument.argChoices = roles;
  return argument;
}

const passwordHelp = "file:PATH that holds it (default: prompt, or standard input)";

export function declareUser(program: Command, io: CommandIo, finish: Finish): void {
  const user = program
    .command("user")
    .summary("manage the users who log in with a password")
    .description(
      "Works on the hub's data folder, whether the hub runs or not. A running hub applies changes within a second.",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse user add ada --role admin\n  gpulse user list\n  gpulse user disable ada",
    );
  const shared = ["data", "config"] as const;
  addFlags(
    user
      .command("add")
      .summary("create a user")
      .description(
        "Roles: a viewer may see everything and change nothing; an admin may do everything. " +
          "Prompts twice for a password of at least 10 characters.",
      )
      .argument("<name>", "name of the user"),
    shared,
  )
    .addOption(choice("--role <role>", "role", roles, "viewer"))
    .option("--password <where>", passwordHelp)
    .option("--json", "print JSON")
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
      .summary("list the users, without their passwords")
      .description("Does not list the users of a web configuration file."),
    shared,
  )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse user list\n  gpulse user list --json")
    .action((flags: UserFlags) =>
      finish(async () => (await import("./run.ts")).listUsers(flags, io)),
    );
  addFlags(
    user
      .command("password")
      .summary("change the password of a user")
      .description("Ends the sessions of the user within a second.")
      .argument("<name>", "name of the user"),
    shared,
  )
    .option("--password <where>", passwordHelp)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse user password ada")
    .action((name: string, flags: UserPasswordFlags) =>
      finish(async () => (await import("./run.ts")).changePassword(name, flags, io)),
    );
  const ends = "Ends the sessions and streams of the user within a second.";
  const enables = "The user can log in again with the old password.";
  const changes = [
    ["role", "change the role of a user", ends, "gpulse user role ada viewer"],
    ["disable", "disable a user until enabled again", ends, "gpulse user disable ada"],
    ["enable", "enable a disabled user", enables, "gpulse user enable ada"],
    ["remove", "remove a user permanently", ends, "gpulse user remove ada"],
  ] as const;
  for (const [verb, summary, description, example] of changes) {
    const command = user
      .command(verb)
      .summary(summary)
      .description(description)
      .argument("<name>", "name of the user");
    if (verb === "role") command.addArgument(roleArgument());
    addFlags(command, shared)
      .option("--json", "print JSON")
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
      .summary("list the sessions of logged-in users")
      .description(
        "Includes sessions that an OpenID provider, a token or a web configuration file allowed.",
      ),
    shared,
  )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse user sessions\n  gpulse user sessions --json")
    .action((flags: UserFlags) =>
      finish(async () => (await import("./sessions.ts")).listSessions(flags, io)),
    );
  addFlags(
    user
      .command("logout")
      .summary("end the sessions of a user")
      .description(
        "Ends the sessions and streams of the user within a second, including those of an OpenID provider. " +
          "The user can log in again unless the provider or gpulse user disable prevents it.",
      )
      .argument("<name>", "name of the user"),
    shared,
  )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse user logout ada")
    .action((name: string, flags: UserFlags) =>
      finish(async () => (await import("./sessions.ts")).logOut(name, flags, io)),
    );
}
