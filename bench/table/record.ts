/** The raw output stored beside the page: every round of the last runs of every area, and the machine of each. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Round } from "./measurement.ts";
import type { BenchMachine } from "./machine.ts";

export interface BenchRun {
  /** When it ended, to the minute, in UTC. */
  readonly at: string;
  readonly seconds: number;
  /** The machine's load before the area began, caused by other processes. */
  readonly load: number;
  /** The origin of the values, if not this machine. */
  readonly elsewhere?: string;
  readonly rounds: Readonly<Record<string, readonly Round[]>>;
}

export interface BenchRecord {
  readonly machine: BenchMachine;
  /** By area, the newest last. */
  readonly runs: Readonly<Record<string, readonly BenchRun[]>>;
}

export const mostRuns = 5;
export const benchRecordFile = fileURLToPath(
  new URL("../../docs/reference/bench-runs.json", import.meta.url),
);
/** Improvements and their sizes, written by hand; the page ends with it. */
export const changesFile = fileURLToPath(new URL("./changes.md", import.meta.url));
export const pageFile = fileURLToPath(new URL("../../docs/benchmarks.md", import.meta.url));

export const readBenchRecord = (file: string = benchRecordFile): BenchRecord =>
  JSON.parse(readFileSync(file, "utf8")) as BenchRecord;

/** One line per measurement, so that a change shows as one line in a diff. */
export function writeBenchRecord(kept: BenchRecord, file: string = benchRecordFile): void {
  const runText = (run: BenchRun): string => {
    const rounds = Object.entries(run.rounds).map(
      ([id, values]) => `          ${JSON.stringify(id)}: ${JSON.stringify(values)}`,
    );
    const head = `"at": ${JSON.stringify(run.at)}, "seconds": ${run.seconds}, "load": ${run.load}${run.elsewhere === undefined ? "" : `, "elsewhere": ${JSON.stringify(run.elsewhere)}`}`;
    return `      {\n        ${head},\n        "rounds": {\n${rounds.join(",\n")}\n        }\n      }`;
  };
  const runs = Object.entries(kept.runs).map(
    ([area, list]) => `    ${JSON.stringify(area)}: [\n${list.map(runText).join(",\n")}\n    ]`,
  );
  const text = `{\n  "machine": ${JSON.stringify(kept.machine)},\n  "runs": {\n${runs.join(",\n")}\n  }\n}\n`;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Appends a run of an area, and drops the oldest if there are too many. */
export function withRun(
  runs: BenchRecord["runs"],
  area: string,
  run: BenchRun,
  isFresh: boolean,
): BenchRecord["runs"] {
  const earlier = isFresh ? [] : (runs[area] ?? []);
  return { ...runs, [area]: [...earlier, run].slice(-mostRuns) };
}
