/** Runs `gpulse rules test`. */
import { writeFileSync } from "node:fs";
import { readTestFile } from "../../alerting/unit-tests/file.ts";
import { type RuleTestOutcome, runTestFile } from "../../alerting/unit-tests/run.ts";
import type { CommandIo } from "../command/io.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { junitXml } from "./junit.ts";
import { formatTestOutcome } from "./show-tests.ts";

export interface TestFlags {
  readonly run?: string;
  readonly json?: boolean;
  readonly junit?: string;
}

export interface FileOutcome {
  readonly file: string;
  readonly ok: boolean;
  /** The file itself is invalid: none of its tests were run. */
  readonly problem?: string;
  /** Patterns of rule_files that match nothing. */
  readonly unmatched: readonly string[];
  readonly tests: readonly RuleTestOutcome[];
}

export async function runRulesTest(
  files: readonly string[],
  flags: TestFlags,
  io: CommandIo,
): Promise<number> {
  const only = flags.run === undefined ? undefined : pattern(flags.run);
  const outcomes: FileOutcome[] = [];
  for (const file of files) {
    const outcome = await runOne(file, only);
    outcomes.push(outcome);
    if (flags.json !== true) show(outcome, io);
  }
  const ok = outcomes.every((one) => one.ok);
  if (flags.json === true) io.stdout.write(`${JSON.stringify({ ok, files: outcomes }, null, 2)}\n`);
  if (flags.junit !== undefined) write(flags.junit, junitXml(outcomes));
  if (ok) return 0;
  return outcomes.some(({ problem }) => problem !== undefined) ? 2 : 1;
}

async function runOne(file: string, only: RegExp | undefined): Promise<FileOutcome> {
  try {
    const read = await readTestFile(file);
    const tests = await runTestFile(read, { only });
    const ok = tests.every(({ failures }) => failures.length === 0);
    return { file, ok, unmatched: read.unmatched, tests };
  } catch (thrown) {
    if (!(thrown instanceof GpulseError)) throw thrown;
    return { file, ok: false, problem: thrown.message, unmatched: [], tests: [] };
  }
}

function show(outcome: FileOutcome, io: CommandIo): void {
  const { file, ok, problem, unmatched, tests } = outcome;
  io.stdout.write(`${file}\n`);
  for (const one of unmatched) io.stderr.write(`  note: no file fits ${one}\n`);
  if (problem !== undefined) io.stdout.write(`  not valid:\n${indented(problem, "    ")}\n`);
  for (const test of tests) io.stdout.write(formatTestOutcome(test));
  io.stdout.write(ok ? "  all pass\n\n" : "  FAILED\n\n");
}

const indented = (text: string, by: string): string =>
  text
    .split("\n")
    .map((line) => by + line)
    .join("\n");

function pattern(given: string): RegExp {
  try {
    return new RegExp(given, "u");
  } catch (thrown) {
    throw new GpulseError("USAGE", `--run must be a regular expression (${formatError(thrown)}).`);
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (thrown) {
    throw new GpulseError("USAGE", `--junit: ${file} cannot be written (${formatError(thrown)}).`);
  }
}
