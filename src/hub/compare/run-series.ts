/**
 * Recorded runs as subjects of a comparison: two runs are compared with each other; of more than two, those with the same label
 * are repeats of one subject. A copy of a run is not a repeat.
 */
import type { RunSeries, ComparisonSubject } from "../../runs/compare/series.ts";
import { GpulseError } from "../../base/error.ts";
import { measuredSeconds, measuredSpan, type RunFile } from "../../runs/run.ts";

export interface NamedRun {
  /** The file name, or the run's id. */
  readonly name: string;
  readonly file: RunFile;
  /** Groups runs instead of the label. */
  readonly group?: string;
}

/** @throws GpulseError USAGE if there are fewer than `fewest` subjects, or the same run appears twice. */
export function subjectsOf(runs: readonly NamedRun[], fewest = 2): readonly ComparisonSubject[] {
  const labels = new Set(runs.map(({ file }) => file.run.label));
  // Two runs are always two subjects, even with the same label.
  const pairs = runs.length === 2 && labels.size === 1 && runs.every(({ group }) => !group);
  const seen = new Map<string, string>();
  const groups = new Map<string, RunSeries[]>();
  for (const { name, file, group } of runs) {
    const copy = seen.get(file.run.id);
    if (copy !== undefined)
      throw new GpulseError(
        "USAGE",
        `${copy} and ${name} are the same run: a copy is not a repeat. Remove one.`,
      );
    seen.set(file.run.id, name);
    const key = group ?? (pairs ? name : file.run.label);
    groups.set(key, [...(groups.get(key) ?? []), seriesOf(name, file)]);
  }
  if (groups.size < fewest)
    throw new GpulseError(
      "USAGE",
      `A comparison needs two subjects, and ${groups.size === 0 ? "no run was given" : `every run is labelled "${[...groups.keys()][0] ?? ""}"`}: name them with --group NAME=FILES.`,
    );
  return [...groups].map(([name, own]) => ({ name, runs: own }));
}

export function seriesOf(name: string, { run, trace }: RunFile): RunSeries {
  const [startMs, endMs] = measuredSpan(run);
  return {
    name,
    startMs,
    endMs,
    durationSeconds: measuredSeconds(run),
    samplingMs: run.samplingMs,
    gpus: run.devices.map(({ uuid, model, host, simulated, power, energy }) => ({
      uuid,
      model,
      host,
      simulated,
      power,
      timeMs: trace.get(uuid)?.timeMs ?? new Float64Array(),
      columns: trace.get(uuid)?.columns ?? new Map<string, Float64Array>(),
      energy: {
        ...(energy.counterJoules === undefined ? {} : { counterJoules: energy.counterJoules }),
        ...(energy.integratedJoules === undefined
          ? {}
          : { integratedJoules: energy.integratedJoules }),
      },
    })),
    work: run.work ?? { why: "the run counted no work (--work, --work-pattern, --result)" },
    ...(run.baselines.before === undefined ? {} : { baselineMs: run.baselines.before }),
    ...(run.visible.parts === undefined ? {} : { visibility: run.visible.parts }),
    doubts: doubtsOf(run),
  };
}

/** Reasons why the numbers may not be representative. */
function doubtsOf(run: RunFile["run"]): readonly string[] {
  const { verdict, changes, foreign } = run.verdict;
  const late = foreign.filter(({ before }) => !before);
  return [
    ...(run.complete ? [] : ["the recording ended before the command."]),
    ...(run.signal === undefined
      ? run.exitCode === 0 || (run.exitCode === null && run.command.length === 0)
        ? []
        : [`the command failed with exit code ${run.exitCode ?? "unknown"}.`]
      : [`the command was ended by ${run.signal}.`]),
    ...(verdict === "unknown"
      ? ["no snapshots: nothing proves that the system stayed as it was."]
      : []),
    ...(verdict === "changed" || verdict === "loaded"
      ? [
          `the system ${verdict === "changed" ? "changed" : "was under another load"} during the run${changes.length === 0 ? "" : `: ${changes.map(({ sentence }) => sentence).join(" ")}`}`,
        ]
      : []),
    ...late.map(({ name, pid }) => `another process was on the GPU: ${name} (${pid}).`),
  ];
}
