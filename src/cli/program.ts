/** All commands, in the order of `--help`. Declarations only: the code of a command is loaded when it runs. */
import type { Command } from "commander";
import { declareAgent } from "../agent/command.ts";
import { runToExit } from "./command/exit.ts";
import type { CommandIo } from "./command/io.ts";
import { createProgram } from "./command/parse.ts";
import { declareAlerts } from "./alerts/command.ts";
import { declareAnalyze } from "./analyze/command.ts";
import { declareAsk } from "./ask/command.ts";
import { declareAudit } from "./audit/command.ts";
import { declareBackup } from "./backup/command.ts";
import { declareCheck } from "./check/command.ts";
import { declareCompletion } from "./completion/command.ts";
import { declareCompare } from "./compare/command.ts";
import { declareConfig } from "./config/command.ts";
import { declareDoctor } from "./doctor/command.ts";
import { declareExplain } from "./explain/command.ts";
import { declareHealth } from "./health/command.ts";
import { declareHub } from "./hub/command.ts";
import { declareImport } from "./import/command.ts";
import { declareJobs } from "./jobs/command.ts";
import { declareLake } from "./lake/command.ts";
import { declareMcp } from "./mcp/command.ts";
import { declarePipe } from "./pipe/command.ts";
import { declareReplay } from "./replay/command.ts";
import { declareQuery } from "./query/command.ts";
import { declareRules } from "./rules/command.ts";
import { declareRun } from "./run/command.ts";
import { declareRuns } from "./runs/command.ts";
import { declareServing } from "./serving/command.ts";
import { declareShare } from "./share/command.ts";
import { declareSilence } from "./silence/command.ts";
import { declareSnapshot } from "./snapshot/command.ts";
import { declareStats } from "./stats/command.ts";
import { declareStress } from "./stress/command.ts";
import { declareToken } from "./token/command.ts";
import { declareTop } from "./top/command.ts";
import { declareUp } from "./up/command.ts";
import { declareUser } from "./user/command.ts";

/** Wraps a command's run and records its exit code. */
export type Finish = (run: () => Promise<number | void>) => Promise<void>;

export interface Program {
  readonly program: Command;
  /** The exit code of the command that ran. */
  readonly exitCode: () => number;
}

type Declare = (program: Command, io: CommandIo, finish: Finish) => void;

/** In the order of `--help`. */
const declarations: Readonly<Record<string, Declare>> = {
  up: declareUp,
  agent: (program, io, finish) =>
    declareAgent(program, (flags) =>
      finish(async () => (await import("../agent/run.ts")).runAgent(flags, io)),
    ),
  hub: declareHub,
  query: declareQuery,
  ask: declareAsk,
  mcp: declareMcp,
  compare: declareCompare,
  alerts: declareAlerts,
  silence: declareSilence,
  rules: declareRules,
  top: declareTop,
  stats: declareStats,
  health: declareHealth,
  explain: declareExplain,
  jobs: declareJobs,
  serving: declareServing,
  snapshot: declareSnapshot,
  doctor: declareDoctor,
  check: declareCheck,
  import: declareImport,
  pipe: declarePipe,
  replay: declareReplay,
  run: declareRun,
  runs: declareRuns,
  stress: declareStress,
  analyze: declareAnalyze,
  lake: declareLake,
  token: declareToken,
  user: declareUser,
  share: declareShare,
  audit: declareAudit,
  backup: declareBackup,
  config: declareConfig,
  completion: declareCompletion,
};

/** Commands whose output describes all commands. */
const describingAll = new Set(["completion"]);

/** @param command declares only this one if it is a command's name: declaring all takes 20 ms and 2 MB at every start */
export function buildProgram(io: CommandIo, command = ""): Program {
  let code = 0;
  const finish: Finish = async (run) => {
    code = await runToExit(run, (text) => void io.stderr.write(text));
  };
  const program = createProgram(io.version)
    .description(
      "GPU monitoring: reads every GPU of this machine, stores the history, answers PromQL and alerts.",
    )
    .addHelpText(
      "after",
      `
Examples:
  gpulse                          live page on http://127.0.0.1:9410, simulated without a GPU
  gpulse up --source sim:8        the same with eight simulated GPUs
  gpulse agent                    serve the metrics of this machine to Prometheus on :9400
  gpulse top                      watch the GPUs in this terminal
  gpulse query 'gpu_power_watts'  query the running hub in PromQL
  gpulse stats --json             list the GPUs as JSON
  gpulse health                   one verdict per GPU, with reason and action
  gpulse doctor                   show what can be read here and how to fix the rest`,
    );
  const isKnown = Object.hasOwn(declarations, command) && !describingAll.has(command);
  const only = isKnown ? declarations[command] : undefined;
  for (const declare of only === undefined ? Object.values(declarations) : [only])
    declare(program, io, finish);
  return { program, exitCode: () => code };
}
