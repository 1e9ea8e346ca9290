/** `gpulse runs`: recorded benchmark runs. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { RunsFlags } from "./run.ts";

export function declareRuns(program: Command, io: CommandIo, finish: Finish): void {
  const runs = program
    .command("runs")
    .summary("list, show, verify, import and push benchmark runs")
    .description("Works with the .gpulserun files that gpulse run and gpulse stress write.")
    .addHelpText(
      "after",
      `
Examples:
  gpulse runs list
  gpulse runs show gpulse-runs/a.gpulserun
  gpulse runs push gpulse-runs/*.gpulserun --url http://127.0.0.1:9410`,
    );
  const load = () => import("./run.ts");
  const onHub = (command: Command, help: string): Command =>
    addClientFlags(command.option("--url <url>", help));
  const folder = ["--folder <dir>", "folder of the runs (default: gpulse-runs)"] as const;

  onHub(runs.command("list"), "list the runs of this hub instead")
    .summary("list the runs of a folder or a hub")
    .option(...folder)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse runs list --url http://127.0.0.1:9410")
    .action((flags: RunsFlags) => finish(async () => (await load()).listRuns(flags, io)));
  onHub(runs.command("show"), "read the run from this hub")
    .summary("show a run")
    .argument("<run>", "file, or id with --url")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse runs show a.gpulserun")
    .action((run: string, flags: RunsFlags) =>
      finish(async () => (await load()).showRun(run, flags, io)),
    );
  runs
    .command("verify")
    .summary("verify that files are complete and unchanged")
    .argument("<file...>", "run files")
    .option("--seal <hex>", "also check that the seal is this one, or starts with it")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse runs verify a.gpulserun --seal 3f9a01c2")
    .action((files: string[], flags: RunsFlags) =>
      finish(async () => (await load()).verifyRuns(files, flags, io)),
    );
  onHub(runs.command("import"), "import runs of this hub, by id")
    .summary("copy runs into the folder")
    .argument("<run...>", "files, or ids with --url")
    .option(...folder)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse runs import ~/Downloads/a.gpulserun")
    .action((names: string[], flags: RunsFlags) =>
      finish(async () => (await load()).importRuns(names, flags, io)),
    );
  onHub(runs.command("push"), "the hub (default: http://127.0.0.1:9410)")
    .summary("push runs to a hub, which shows them on its page")
    .argument("<file...>", "run files")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse runs push gpulse-runs/*.gpulserun")
    .action((files: string[], flags: RunsFlags) =>
      finish(async () => (await load()).pushRuns(files, flags, io)),
    );
  onHub(runs.command("mlperf"), "read the run from this hub")
    .summary("write a run as an MLPerf system description and an energy document")
    .description(
      "Writes system.json, from the snapshot before the run, and energy.json, of the window the benchmark measured. The energy is " +
        "board power by the GPU's sensors, not MLPerf Power, and the file says so.",
    )
    .argument("<run>", "file, or id with --url")
    .option("--out <dir>", "folder to write to (default: the working folder)")
    .option("--json", "print both as one JSON document instead")
    .addHelpText("after", "\nExamples:\n  gpulse runs mlperf offline.gpulserun --out submission")
    .action((run: string, flags: RunsFlags) =>
      finish(async () => (await load()).writeMlperf(run, flags, io)),
    );
  runs
    .command("recover")
    .summary("recover the run of a recording that was killed")
    .argument("<folder>", "the .partial folder of the recording")
    .option("--out <file>", "file of the run (default: the name of the folder without .partial)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse runs recover gpulse-runs/a-20260131T120000-1f2e.gpulserun.partial",
    )
    .action((from: string, flags: RunsFlags) =>
      finish(async () => (await load()).recoverRun(from, flags, io)),
    );
}
