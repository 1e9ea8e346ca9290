/** `gpulse jobs`: what each job held, used, cost and wasted. */
import type { Command } from "commander";
import { billGroups } from "../../runs/jobs/bill.ts";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import { choice } from "../command/choice.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type {
  BillFlags,
  BooksFlags,
  ForgetFlags,
  JobQueryFlags,
  ListFlags,
  JobShowFlags,
} from "./run.ts";

const fromOption = [
  "--from <time>",
  "a day, a time or how long ago, such as 2026-11-01 or 30d (default: 7d)",
] as const;
const toOption = ["--to <time>", "the end of the period, in the same form (default: now)"] as const;

export function declareJobs(program: Command, io: CommandIo, finish: Finish): void {
  const jobs = program
    .command("jobs")
    .summary("show what each job held, used, cost and wasted")
    .description("Reads the job ledger of a running hub.")
    .addHelpText(
      "after",
      `
Examples:
  gpulse jobs list --state running
  gpulse jobs show 4711
  gpulse jobs bill --by account --from 2026-11-01 --to 2026-12-01
  gpulse jobs books --source 'sim:8?speed=max&interval=10s&duration=7d'`,
    );
  declareList(jobs, io, finish);
  declareShow(jobs, io, finish);
  addClientFlags(
    jobs
      .command("idle")
      .summary("list running jobs that hold GPUs without using them")
      .description("As the hub's held-idle policy selects them, with what their owners answered.")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .addHelpText("after", "\nExamples:\n  gpulse jobs idle")
      .action((flags: JobQueryFlags) =>
        finish(async () => (await import("./run.ts")).listIdle(flags, io)),
      ),
  );
  addClientFlags(
    jobs
      .command("bill")
      .summary("sum up a period by user, account, project, controller, day, job or kind")
      .description("GPU-hours, useful and idle hours, energy and, with tariffs, cost and CO2.")
      .addOption(choice("--by <group>", "what to sum up by", billGroups, "user"))
      .option(...fromOption)
      .option(...toOption)
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .option("--csv", "print CSV")
      .addHelpText("after", "\nExamples:\n  gpulse jobs bill --by user --from 30d --csv")
      .action((flags: BillFlags) =>
        finish(async () => (await import("./run.ts")).printBill(flags, io)),
      ),
  );
  addClientFlags(
    jobs
      .command("export")
      .summary("export everything the ledger holds about a user")
      .description("Prints a JSON object a line. Needs the admin scope, and is in the audit log.")
      .argument("<user>", "the user's name")
      .option("--out <file>", "where to write it (default: standard output)")
      .option(...hubUrlOption)
      .addHelpText("after", "\nExamples:\n  gpulse jobs export ada --out ada.jsonl")
      .action((user: string, flags: JobShowFlags) =>
        finish(async () => (await import("./run.ts")).exportJobs(user, flags, io)),
      ),
  );
  addClientFlags(
    jobs
      .command("forget")
      .summary("delete a user's records, or put them under a pseudonym")
      .description(
        "Changes records of ended jobs; jobs that run are reported and have to be forgotten when they have ended. Needs the admin scope, and is in the audit log.",
      )
      .argument("<user>", "the user's name")
      .option("--pseudonym", "keep the sums, with a pseudonym in place of the user and job names")
      .option("--yes", "do it: without this only the number of records is printed")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .addHelpText("after", "\nExamples:\n  gpulse jobs forget ada --pseudonym --yes")
      .action((user: string, flags: ForgetFlags) =>
        finish(async () => (await import("./run.ts")).forgetJobs(user, flags, io)),
      ),
  );
  addClientFlags(
    jobs
      .command("books")
      .summary("check that the energy of every GPU and day is accounted for")
      .description(
        "For each GPU and day: what the energy counter counted, and what jobs, idleness and gaps account for. Exit code 1 where a book does not close within 0.1 %.",
      )
      .option(...fromOption)
      .option(...toOption)
      .option("--all", "list every GPU and day, not only the sums of the days")
      .option(
        "--source <url>",
        "keep the books of a stream, such as a simulated week, instead of a hub's",
      )
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .option("--csv", "print CSV")
      .addHelpText(
        "after",
        `
Examples:
  gpulse jobs books --from 7d
  gpulse jobs books --source 'sim:8?speed=max&start=2026-01-05T00:00:00Z&interval=10s&duration=7d'`,
      )
      .action((flags: BooksFlags) =>
        finish(async () => (await import("./run.ts")).printBooks(flags, io)),
      ),
  );
}

function declareList(jobs: Command, io: CommandIo, finish: Finish): void {
  addClientFlags(
    jobs
      .command("list")
      .summary("list jobs, newest first")
      .description("Lists running jobs and those that ended in the period.")
      .addOption(choice("--state <state>", "which jobs", ["running", "ended", "all"], "all"))
      .option("--user <name>", "only this user's (default: all)")
      .option("--account <name>", "only this account's (default: all)")
      .option("--kind <kind>", "only jobs of this kind, such as slurm or pod (default: all)")
      .option("--only <host>", "only jobs on this machine (default: all)")
      .option("--match <text>", "only jobs with this in their name or id (default: all)")
      .option(...fromOption)
      .option(...toOption)
      .option("--limit <count>", "at most so many (default: 100)")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .option("--csv", "print CSV")
      .addHelpText("after", "\nExamples:\n  gpulse jobs list --user ada --from 24h")
      .action((flags: ListFlags) =>
        finish(async () => (await import("./run.ts")).listJobs(flags, io)),
      ),
  );
}

function declareShow(jobs: Command, io: CommandIo, finish: Finish): void {
  addClientFlags(
    jobs
      .command("show")
      .summary("show one job: efficiency, energy and its GPUs")
      .description("Prints a job in the manner of seff, with a verdict and a line for each GPU.")
      .argument("<id>", "id of the job, or the scheduler's number: the newest that fits")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .addHelpText(
        "after",
        "\nExamples:\n  gpulse jobs show 4711\n  gpulse jobs show pod:research/train-0 --json",
      )
      .action((id: string, flags: JobShowFlags) =>
        finish(async () => (await import("./run.ts")).showJob(id, flags, io)),
      ),
  );
  addClientFlags(
    jobs
      .command("report")
      .summary("write one job as an HTML file")
      .description("The page has no scripts and no outside references: attach it to a mail.")
      .argument("<id>", "id of the job, or the scheduler's number")
      .option("--out <file>", "where to write it (default: standard output)")
      .option("--text", "write the text of an epilog instead")
      .option(...hubUrlOption)
      .addHelpText(
        "after",
        "\nExamples:\n  gpulse jobs report 4711 --out job-4711.html\n  gpulse jobs report $SLURM_JOB_ID --text",
      )
      .action((id: string, flags: JobShowFlags) =>
        finish(async () => (await import("./run.ts")).reportJob(id, flags, io)),
      ),
  );
}
