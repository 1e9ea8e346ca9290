/** Recorded runs as subjects of a comparison: runs of one label are repeats of one subject, and a copy is no repeat. */
import type { RunSeries, ComparisonSubject } from "../../runs/compare/series.ts";
import { GpulseError } from "../../base/error.ts";
import type { RunFile } from "../../runs/run.ts";

export interface NamedRun {
  /** The file, or the run's id. */
  readonly name: string;
  readonly file: RunFile;
  /** Instead of its label. */
  readonly group?: string;
}

/** @throws GpulseError USAGE where there are fewer subjects than that, or one run is given twice. */
export function subjectsOf(runs: readonly NamedRun[], fewest = 2): readonly ComparisonSubject[] {
  const seen = new Map<string, string>();
  const groups = new Map<string, RunSeries[]>();
  for (const { name, file, group } of runs) {
    const copy = seen.get(file.run.id);
    if (copy !== undefined)
      throw new GpulseError(
        "USAGE",
        `${copy} and ${name} are the same run: a copy is no repeat. Leave one out.`,
      );
    seen.set(file.run.id, name);
    const key = group ?? file.run.label;
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
  return {
    name,
    startMs: run.startedMs,
    endMs: run.endedMs,
    durationSeconds: run.durationSeconds,
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
    work: run.work ?? { why: "the run counted no work (--work, --work-pattern)" },
    ...(run.baselines.before === undefined ? {} : { baselineMs: run.baselines.before }),
    doubts: doubtsOf(run),
  };
}

/** Why its numbers may not be those of the system. */
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
