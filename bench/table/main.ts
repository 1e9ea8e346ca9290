/**
 * `npm run bench`: runs every measurement of the table beside its peer, stores the raw output and writes docs/benchmarks.md.
 * `-- --only agent,store` runs some areas, `--check` compares the ratios with their bands and writes nothing, `--full` uses
 * larger sizes, `--repeat 3` sets the number of runs, `--fresh` discards earlier runs, `--page` only writes the page again.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { EngineMissingError } from "../../engines/cache.ts";
import { areas } from "./areas.ts";
import { isInside, ratioOf, round3 } from "./band.ts";
import {
  type BenchRecord,
  benchRecordFile,
  type BenchRun,
  changesFile,
  pageFile,
  readBenchRecord,
  withRun,
  writeBenchRecord,
} from "./record.ts";
import { thisMachine } from "./machine.ts";
import type { Area, Round } from "./measurement.ts";
import { renderPage, tableRowsOf } from "./page.ts";

const { values: given } = parseArgs({
  options: {
    only: { type: "string" },
    check: { type: "boolean", default: false },
    full: { type: "boolean", default: false },
    fresh: { type: "boolean", default: false },
    page: { type: "boolean", default: false },
    repeat: { type: "string", default: "1" },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

function chosen(): readonly Area[] {
  const names = given.only?.split(",");
  const unknown = names?.find((name) => !areas.some((area) => area.name === name));
  if (unknown !== undefined)
    throw new Error(
      `there is no area ${unknown}; there are ${areas.map(({ name }) => name).join(", ")}.`,
    );
  return areas.filter(({ name }) => names === undefined || names.includes(name));
}

async function take(area: Area): Promise<BenchRun> {
  const rounds: Record<string, Round[]> = {};
  let elsewhere: string | undefined;
  const began = performance.now();
  const load = Number((loadavg()[0] ?? 0).toFixed(1));
  const seconds = (): string => `${((performance.now() - began) / 1_000).toFixed(0)} s`;
  say(`… ${area.name}: ${area.title}`);
  await area.measure({
    full: given.full,
    put: (id, ours, theirs) => {
      if (!area.measurements.some((one) => one.id === id))
        throw new Error(`BUG: ${id} is not in the list of ${area.name}`);
      if (!(ours > 0 && theirs > 0 && Number.isFinite(ours / theirs)))
        throw new Error(`${id} came out as ${ours} beside ${theirs}`);
      (rounds[id] ??= []).push([Number(ours.toPrecision(4)), Number(theirs.toPrecision(4))]);
    },
    progress: (text) => say(`    ${seconds().padStart(6)}  ${text}`),
    elsewhere: (sentence) => void (elsewhere = sentence),
  });
  return {
    at: new Date().toISOString().slice(0, 16).replace("T", " "),
    seconds: Math.round((performance.now() - began) / 1_000),
    load,
    ...(elsewhere === undefined ? {} : { elsewhere }),
    rounds,
  };
}

/** Prints the run beside its bands; returns the names of those outside. */
function held(area: Area, run: BenchRun, kept: BenchRecord): string[] {
  const known = new Map(
    tableRowsOf(area, kept.runs[area.name] ?? []).map((row) => [row.measurement.id, row.band]),
  );
  const outside: string[] = [];
  for (const { id, what, peer } of area.measurements) {
    const rounds = run.rounds[id];
    const band = known.get(id);
    if (rounds === undefined) {
      if (band !== undefined) outside.push(`${id} (not measured)`);
      continue;
    }
    const ratio = round3(ratioOf(rounds));
    const inside = band === undefined || isInside(ratio, band);
    if (!inside) outside.push(`${id} (${ratio}, band ${band.low} to ${band.high})`);
    const reported = band === undefined ? "" : ` (${band.low} to ${band.high})`;
    say(
      `  ${inside ? " " : "!"} ${String(ratio).padEnd(7)}${reported.padEnd(20)} ${what}, beside ${peer}`,
    );
  }
  return outside;
}

async function main(): Promise<void> {
  const before: BenchRecord = existsSync(benchRecordFile)
    ? readBenchRecord()
    : { machine: await thisMachine(), runs: {} };
  let kept = before;
  const outside: string[] = [];
  const failed: string[] = [];
  const began = performance.now();
  const keep = (): void => {
    if (given.check || given.full) return;
    writeBenchRecord(kept);
    writeFileSync(pageFile, renderPage(areas, kept, readFileSync(changesFile, "utf8")));
  };
  if (given.page) return keep();
  const machine = await thisMachine();
  for (let turn = 0; turn < Number(given.repeat); turn++)
    for (const area of chosen())
      try {
        const run = await take(area);
        outside.push(...held(area, run, before));
        kept = { machine, runs: withRun(kept.runs, area.name, run, given.fresh && turn === 0) };
        keep();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        say(`  ✗ ${area.name} was not measured: ${reason}`);
        if (!(error instanceof EngineMissingError)) failed.push(area.name);
      }
  say(`all in ${((performance.now() - began) / 60_000).toFixed(1)} min`);
  if (failed.length > 0) say(`not measured: ${failed.join(", ")}`);
  if (outside.length > 0)
    say(`outside ${given.check ? "" : "the earlier "}bands:\n  ${outside.join("\n  ")}`);
  if (failed.length > 0 || (given.check && outside.length > 0)) process.exitCode = 1;
}

await main();
