/** `gpulse runs`: benchmark runs that were kept. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { RunsFlags } from "./run.ts";

export function declareRuns(program: Command, io: CommandIo, finish: Finish): void {
  const runs = program
    .command("runs")
    .summary("list, show, prove, import and push benchmark runs")
    .description("Works with the .gpulserun files that gpulse run and gpulse stress keep.");
  const load = () => import("./run.ts");
  const onHub = (command: Command, help: string): Command =>
    addClientFlags(command.option("--url <url>", help));
  const folder = ["--folder <dir>", "where runs are kept (default: gpulse-runs)"] as const;

  onHub(runs.command("list"), "a hub's runs instead of a folder's")
    .summary("the runs in a folder, or on a hub")
    .option(...folder)
    .option("--json", "print for a program")
    .addHelpText("after", "\nExample:\n  gpulse runs list --url http://127.0.0.1:9410")
    .action((flags: RunsFlags) => finish(async () => (await load()).listRuns(flags, io)));
  onHub(runs.command("show"), "the hub that has the run")
    .summary("what a run says")
    .argument("<run>", "a file, or an id with --url")
    .option("--json", "print run.json")
    .addHelpText("after", "\nExample:\n  gpulse runs show a.gpulserun")
    .action((run: string, flags: RunsFlags) =>
      finish(async () => (await load()).showRun(run, flags, io)),
    );
  runs
    .command("verify")
    .summary("prove that files are as they were written")
    .argument("<file...>", "run files")
    .option("--seal <hex>", "also that it is the file of this seal, or of its beginning")
    .addHelpText("after", "\nExample:\n  gpulse runs verify a.gpulserun --seal 3f9a01c2")
    .action((files: string[], flags: RunsFlags) =>
      finish(async () => (await load()).verifyRuns(files, flags, io)),
    );
  onHub(runs.command("import"), "take runs from this hub, by id")
    .summary("bring runs into the folder")
    .argument("<run...>", "files, or ids with --url")
    .option(...folder)
    .addHelpText("after", "\nExample:\n  gpulse runs import ~/Downloads/a.gpulserun")
    .action((names: string[], flags: RunsFlags) =>
      finish(async () => (await load()).importRuns(names, flags, io)),
    );
  onHub(runs.command("push"), "the hub (default: http://127.0.0.1:9410)")
    .summary("send runs to a hub, which opens them in its page")
    .argument("<file...>", "run files")
    .addHelpText("after", "\nExample:\n  gpulse runs push gpulse-runs/*.gpulserun")
    .action((files: string[], flags: RunsFlags) =>
      finish(async () => (await load()).pushRuns(files, flags, io)),
    );
  runs
    .command("recover")
    .summary("make a file of what a killed recording left behind")
    .argument("<folder>", "its .partial folder")
    .option("--out <file>", "where the run goes (default: the name it would have had)")
    .addHelpText(
      "after",
      "\nExample:\n  gpulse runs recover gpulse-runs/a-20260131T120000-1f2e.gpulserun.partial",
    )
    .action((from: string, flags: RunsFlags) =>
      finish(async () => (await load()).recoverRun(from, flags, io)),
    );
}
