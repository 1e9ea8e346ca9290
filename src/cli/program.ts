/** Every command there is, in the order help shows them. Declarations only: what a command does is loaded when it runs. */
import type { Command } from "commander";
import { declareAgent } from "../agent/command.ts";
import { runToExit } from "./command/exit.ts";
import type { CommandIo } from "./command/io.ts";
import { createProgram } from "./command/parse.ts";
import { declareAlerts } from "./commands/alerts.ts";
import { declareAnalyze } from "./commands/analyze.ts";
import { declareAudit } from "./commands/audit.ts";
import { declareBackup } from "./commands/backup.ts";
import { declareCompare } from "./commands/compare.ts";
import { declareConfig } from "./commands/config.ts";
import { declareDoctor } from "./commands/doctor.ts";
import { declareHub } from "./commands/hub.ts";
import { declareImport } from "./commands/import.ts";
import { declarePipe } from "./commands/pipe.ts";
import { declareReplay } from "./commands/replay.ts";
import { declareQuery } from "./commands/query.ts";
import { declareRules } from "./commands/rules.ts";
import { declareRun } from "./commands/run.ts";
import { declareRuns } from "./commands/runs.ts";
import { declareShare } from "./commands/share.ts";
import { declareSilence } from "./commands/silence.ts";
import { declareSnapshot } from "./commands/snapshot.ts";
import { declareStats } from "./commands/stats.ts";
import { declareStress } from "./commands/stress.ts";
import { declareToken } from "./commands/token.ts";
import { declareTop } from "./commands/top.ts";
import { declareUp } from "./commands/up.ts";
import { declareUser } from "./commands/user.ts";

/** Wraps a command's run so that its exit code ends up in one place. */
export type Finish = (run: () => Promise<number | void>) => Promise<void>;

export interface Program {
  readonly program: Command;
  /** The exit code of the command that ran. */
  readonly exitCode: () => number;
}

export function buildProgram(io: CommandIo): Program {
  let code = 0;
  const finish: Finish = async (run) => {
    code = await runToExit(run, (text) => void io.stderr.write(text));
  };
  const program = createProgram(io.version)
    .description("The pulse of your GPUs: reads every GPU of this machine and shows it live.")
    .addHelpText(
      "after",
      `
Examples:
  gpulse                         live page on http://127.0.0.1:9410, simulated where there is no GPU
  gpulse up --source sim:8       the same with eight simulated GPUs
  gpulse agent                   serve this machine to Prometheus on :9400
  gpulse top                     the same in this terminal
  gpulse query 'gpu_power_watts' ask the running hub in PromQL
  gpulse stats --json            what GPUs are here, for a program
  gpulse doctor                  what can be read here, and what is in the way`,
    );
  declareUp(program, io, finish);
  declareAgent(program, (flags) =>
    finish(async () => (await import("../agent/run.ts")).runAgent(flags, io)),
  );
  declareHub(program, io, finish);
  declareQuery(program, io, finish);
  declareCompare(program, io, finish);
  declareAlerts(program, io, finish);
  declareSilence(program, io, finish);
  declareRules(program, io, finish);
  declareTop(program, io, finish);
  declareStats(program, io, finish);
  declareSnapshot(program, io, finish);
  declareDoctor(program, io, finish);
  declareImport(program, io, finish);
  declarePipe(program, io, finish);
  declareReplay(program, io, finish);
  declareRun(program, io, finish);
  declareRuns(program, io, finish);
  declareStress(program, io, finish);
  declareAnalyze(program, io, finish);
  declareToken(program, io, finish);
  declareUser(program, io, finish);
  declareShare(program, io, finish);
  declareAudit(program, io, finish);
  declareBackup(program, io, finish);
  declareConfig(program, io, finish);
  return { program, exitCode: () => code };
}
