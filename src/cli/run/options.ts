/** The options of `gpulse run`, validated before anything starts. */
import { defined } from "../../base/defined.ts";
import { checkValue } from "../../config/check.ts";
import { durationMs } from "../../config/fields.ts";
import type { ClientFlags } from "../command/client.ts";
import type { FlagValues } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";

export interface RunFlags extends FlagValues, ClientFlags {
  readonly label?: string;
  readonly work?: string;
  readonly unit?: string;
  readonly workPattern?: string;
  readonly workTake?: string;
  readonly workMetric?: string;
  readonly result?: string;
  readonly phasePattern?: string;
  readonly measurePhase?: string;
  readonly baseline?: string;
  readonly sampling?: string;
  readonly out?: string;
  readonly repeats?: string;
  readonly capture?: boolean;
  readonly measureOverhead?: boolean;
  readonly withHub?: string;
  readonly hosts?: string;
  readonly failOnChange?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export interface RunCommandOptions {
  readonly label: string;
  /** The unit named by the user: a benchmark's result may contain several. */
  readonly unit?: string;
  readonly work?: number;
  readonly workPattern?: RegExp;
  readonly workTake: "sum" | "last";
  readonly workMetric?: string;
  readonly result?: string;
  readonly phasePattern?: RegExp;
  readonly measurePhase?: string;
  readonly baselineMs: number;
  readonly samplingMs: number;
  readonly repeats: number;
  readonly hosts: readonly string[];
}

export function parseRunOptions(flags: RunFlags, command: readonly string[]): RunCommandOptions {
  if (command.length === 0)
    throw usage(
      "gpulse run needs a command. Pass it after --, such as gpulse run --label a -- ./benchmark.",
    );
  const workOptions = [flags.work, flags.workPattern, flags.workMetric, flags.result].filter(
    (given) => given !== undefined,
  );
  if (workOptions.length > 1)
    throw usage("Pass only one of --work, --work-pattern, --work-metric and --result.");
  if (
    flags.capture === false &&
    (flags.workPattern ?? flags.phasePattern ?? flags.measurePhase) !== undefined
  )
    throw usage("Patterns and phases need the captured output. Remove --no-capture.");
  if (flags.measurePhase !== undefined && flags.result !== undefined)
    throw usage("--result has its own measured window. Pass it or --measure-phase, not both.");
  const workTake = flags.workTake ?? "last";
  if (workTake !== "sum" && workTake !== "last")
    throw usage(`--work-take must be sum or last, not "${workTake}".`);
  const label = (flags.label ?? defaultLabel(command)).trim();
  if (label === "" || label.length > 200) throw usage("--label must have 1 to 200 characters.");
  const hosts = (flags.hosts ?? "")
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");
  if (hosts.length > 0 && flags.withHub === undefined)
    throw usage("--hosts needs the hub that has these machines. Pass --with-hub URL.");
  return {
    label,
    workTake,
    ...defined({
      unit: flags.unit,
      result: flags.result,
      work: flags.work === undefined ? undefined : amount(flags.work),
      workPattern: pattern("--work-pattern", flags.workPattern, true),
      workMetric: flags.workMetric,
      phasePattern: pattern("--phase-pattern", flags.phasePattern, false),
      measurePhase: flags.measurePhase,
    }),
    baselineMs:
      flags.baseline === "0" ? 0 : parseDurationFlag("--baseline", flags.baseline ?? "2s", 0),
    samplingMs: parseDurationFlag("--sampling", flags.sampling ?? "100ms", 20),
    repeats: parseRepeats(flags.repeats ?? "1"),
    hosts,
  };
}

const mostRepeats = 100;

function parseRepeats(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > mostRepeats)
    throw usage(`--repeats must be a whole number from 1 to ${mostRepeats}, not "${text}".`);
  return count;
}

/** `./train.py` → train.py: a default label that groups runs by program. */
const defaultLabel = (command: readonly string[]): string =>
  command[0]?.split(/[/\\]/).at(-1) ?? "run";

function amount(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw usage(`--work must be a number above 0, not "${text}".`);
  return value;
}

function pattern(flag: string, text: string | undefined, needsGroup: boolean): RegExp | undefined {
  if (text === undefined) return undefined;
  let made: RegExp;
  try {
    made = new RegExp(text);
  } catch (thrown) {
    throw usage(
      `${flag} is not a regular expression: ${thrown instanceof Error ? thrown.message : ""}.`,
    );
  }
  const groups = (new RegExp(`${text}|`).exec("")?.length ?? 1) - 1;
  if (needsGroup && groups !== 1)
    throw usage(`${flag} needs one group around the number, such as '([0-9.]+) images'.`);
  return made;
}

export function parseDurationFlag(flag: string, text: string, minMs: number): number {
  const checked = checkValue(durationMs(minMs, 86_400_000), text);
  if (checked.ok) return checked.value;
  throw usage(`${flag} ${checked.problems[0]?.sentence ?? "is not understood."}`);
}

const usage = (sentence: string): GpulseError => new GpulseError("USAGE", sentence);
