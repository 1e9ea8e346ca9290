// What a run of the crash lab has to show.

import type { SampleVerdict } from "../chaos/counts.ts";

export interface CrashReport {
  readonly seed: number;
  readonly kills: number;
  readonly seconds: number;
  /** Kills by their moment. */
  readonly moments: Readonly<Record<string, number>>;
  /** Faults that happened, by kind: operations that failed, jumps, second hubs, damaged files. */
  readonly faults: Readonly<Record<string, number>>;
  /** Starts that a fault ended; the hub named it and exited. */
  readonly failedStarts: Readonly<Record<string, number>>;
  readonly samples: SampleVerdict;
  /** Values of functions over whole buckets of history: compared with samples, and of queries that rollups answered. */
  readonly rollups: { readonly windows: number; readonly fromRollups: number };
  /** Of those lost: reported by the hub, after damage to its log. */
  readonly reportedLost: number;
  readonly answers: Readonly<Record<string, number>>;
  /** What must not be: a sentence each. */
  readonly violations: readonly string[];
}

/** The run's counts as a table. */
export function describeCrashes(report: CrashReport): string {
  const { seed, kills, seconds, samples, rollups } = report;
  const failed = Object.values(report.failedStarts).reduce((total, count) => total + count, 0);
  const lines = (counts: Readonly<Record<string, number>>): string[] =>
    Object.entries(counts)
      .sort(([, left], [, right]) => right - left)
      .map(([name, count]) => `  ${name.padEnd(40)}${String(count).padStart(8)}`);
  return [
    `crash: ${kills} kills in ${seconds} s (CRASH_SEED=${seed})`,
    ...lines(report.moments),
    "faults",
    ...lines({ ...report.faults, "starts refused because of a fault": failed }),
    "samples",
    ...lines({
      acknowledged: samples.acknowledged,
      "lost and reported (damaged log)": report.reportedLost,
      "lost without a report": samples.lost - report.reportedLost,
      wrong: samples.wrong,
      duplicated: samples.duplicated,
      "never sent": samples.unexplained,
    }),
    "rollups",
    ...lines({ "windows compared": rollups.windows, "of rollups": rollups.fromRollups }),
  ].join("\n");
}
