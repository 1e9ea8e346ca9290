/** Generates docs/benchmarks.md from the stored runs: a pure function, so that a test compares the page with the raw output. */
import { type Band, bandOf, isInside, leastFactor, middle, ratioOf, round3 } from "./band.ts";
import type { BenchRecord, BenchRun } from "./record.ts";
import { type Area, commandOf, type Measurement, type Round } from "./measurement.ts";

export interface TableRow {
  readonly measurement: Measurement;
  readonly ratio: number;
  readonly band: Band;
  readonly ours: number;
  readonly theirs: number;
}

/** An area's rows on the page: the newest run's values, and the bands of all stored runs. */
export function tableRowsOf(area: Area, runs: readonly BenchRun[]): TableRow[] {
  return area.measurements.flatMap((measurement) => {
    const taken = runs.flatMap(({ rounds }) => {
      const own = rounds[measurement.id];
      return own === undefined || own.length === 0 ? [] : [own];
    });
    const newest = taken.at(-1);
    if (newest === undefined) return [];
    return [{ measurement, ...figures(newest), band: bandOf(measurement.kind, taken) }];
  });
}

const figures = (rounds: readonly Round[]): Pick<TableRow, "ratio" | "ours" | "theirs"> => ({
  ratio: round3(ratioOf(rounds)),
  ours: middle(rounds.map(([ours]) => ours)),
  theirs: middle(rounds.map(([, theirs]) => theirs)),
});

type Standing = "ahead" | "even" | "behind";

/** `even` if the band contains 1: runs of the same two programs may end on either side of it. */
export function standingOf({ measurement, ratio, band }: TableRow): Standing {
  if (isInside(1, band)) return "even";
  return (measurement.better === "lower") === ratio < 1 ? "ahead" : "behind";
}

const isBehind = (row: TableRow): boolean => standingOf(row) === "behind";

/** How far behind, as a factor above 1. */
const distance = ({ measurement, ratio }: TableRow): number =>
  measurement.better === "lower" ? ratio : 1 / ratio;

const formatFigure = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));

function table(rows: readonly TableRow[]): string[] {
  const lines = rows.map((row) => {
    const { what, peer, unit, better } = row.measurement;
    const cells = [
      what,
      peer,
      `${formatFigure(row.ours)} ${unit}`,
      `${formatFigure(row.theirs)} ${unit}`,
      `**${row.ratio}** (${row.band.low} to ${row.band.high})`,
      better,
      standingOf(row),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| | peer | gpulse | peer's | ratio (band) | better | |",
    "|---|---|---|---|---|---|---|",
    ...lines,
  ];
}

function section(area: Area, runs: readonly BenchRun[]): string[] {
  const rows = tableRowsOf(area, runs);
  const newest = runs.at(-1);
  if (newest === undefined || rows.length === 0) return [];
  const times = runs.length === 1 ? "one run" : `the last ${runs.length} runs`;
  const taken =
    newest.elsewhere ??
    `Taken ${newest.at} UTC in ${newest.seconds} s, load ${newest.load} before it; bands from ${times}.`;
  const notes = rows
    .filter(isBehind)
    .flatMap(({ measurement: { what, peer, behind } }) =>
      behind === undefined ? [] : [{ of: `${what} (${peer})`, note: behind }],
    );
  const byNote = new Map<string, string[]>();
  for (const { of, note } of notes) byNote.set(note, [...(byNote.get(note) ?? []), of]);
  return [
    `## ${area.title}`,
    "",
    `\`${commandOf(area)}\`${area.more === undefined ? "" : `, and more of it by \`${area.more}\``}: ${area.about}`,
    "",
    ...table(rows),
    "",
    taken,
    ...[...byNote].flatMap(([note, of]) => ["", `Behind in ${of.join("; ")}: ${note}`]),
    "",
  ];
}

function worst(all: readonly TableRow[], areaOf: (row: TableRow) => Area): string[] {
  const rows = all
    .filter(isBehind)
    .toSorted((a, b) => distance(b) - distance(a))
    .slice(0, 8);
  const items = rows.map(
    (row) =>
      `- ${areaOf(row).title}: ${row.measurement.what}, beside ${row.measurement.peer}: ${row.ratio}`,
  );
  return rows.length === 0 ? [] : ["The farthest behind:", "", ...items, ""];
}

export function renderPage(areas: readonly Area[], kept: BenchRecord, changes: string): string {
  const { machine } = kept;
  const owner = new Map<TableRow, Area>();
  for (const area of areas)
    for (const row of tableRowsOf(area, kept.runs[area.name] ?? [])) owner.set(row, area);
  const all = [...owner.keys()];
  const missing = areas
    .filter(({ name }) => kept.runs[name] === undefined)
    .map(({ name }) => `\`${name}\``)
    .join(", ");
  const count = (standing: Standing): number =>
    all.filter((row) => standingOf(row) === standing).length;
  const engines = Object.entries(machine.engines).map(([name, version]) => `${name} ${version}`);
  const floors = Object.entries(leastFactor).map(([kind, factor]) => `${kind} ${factor}`);
  return [
    "# gpulse beside its peers",
    "",
    "Made by `npm run bench`; do not edit. Every figure is a ratio of ours to a peer's, taken in the same run: both run on the same machine in alternating rounds, and the",
    "ratio is the median of the rounds' ratios. Absolute figures are the medians of the newest run and belong to its machine.",
    "",
    "    npm run bench                       # all, about a quarter of an hour on two cores; writes this page",
    "    npm run bench -- --only agent,store # some of it",
    "    npm run bench -- --check            # writes nothing, and ends with 1 where a ratio is outside its band",
    "    npm run bench -- --full             # larger sizes, more rounds; printed, not kept",
    "",
    `A band says where the ratio of a next run is to lie, on another machine too. It reaches, in factors around the median of the kept runs, as far as the farthest of these runs and half again`,
    `or half the farthest round beyond it, and never less than the kind of figure moves by itself: ${floors.join(", ")}. Every round is in [the raw output](reference/bench-runs.json); what was found in detail is in`,
    "[the findings](reference/benchmarks.md).",
    "",
    `${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}; ${engines.join(", ")}.`,
    "",
    `Ahead in ${count("ahead")}, even in ${count("even")}, behind in ${count("behind")} of ${all.length}. Even means that the band holds 1.${missing === "" ? "" : ` Not measured yet: ${missing}.`}`,
    "",
    ...worst(all, (row) => owner.get(row) as Area),
    ...areas.flatMap((area) => section(area, kept.runs[area.name] ?? [])),
    changes.trim(),
    "",
  ].join("\n");
}
