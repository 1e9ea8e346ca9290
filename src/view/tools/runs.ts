/** Tools for benchmark runs and comparisons. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import type { Comparison } from "../../runs/compare/compare.ts";
import { metricRows } from "../../runs/compare/report/rows.ts";
import { instant, name, number, pageOf, type ToolAnswer, word } from "./answer.ts";
import { resolveGpu } from "./gpu-selector.ts";
import { readOptionalRoute, readRoute, routeOf } from "./hub-reader.ts";
import { quoteText } from "./quote.ts";
import { defineTool, paging, text, timeHint, timeOf, type ToolContext } from "./tool.ts";

const runsSchema = v.object({
  runs: v.array(
    v.object({
      run: v.object({
        id: v.string(),
        label: v.string(),
        host: v.string(),
        startedMs: v.number(),
        durationSeconds: v.number(),
        complete: v.boolean(),
        work: v.optional(v.object({ amount: v.number(), unit: v.string() })),
        verdict: v.object({ verdict: v.string() }),
      }),
    }),
  ),
});

export const listRuns = defineTool({
  name: "list_runs",
  title: "Benchmark runs",
  description:
    "Recorded benchmark runs (gpulse run), newest first: id, label, host, duration, work done, and whether the system stayed unchanged. compare takes the ids.",
  input: v.strictObject({
    match: text("Only runs with this in their id, label or host."),
    ...paging,
  }),
  example: { limit: 10 },
  run: async ({ match = "", limit, offset }, { hub }) => {
    const route = "/api/runs";
    const found = await readOptionalRoute(hub, route, runsSchema);
    if (found === undefined) throw new GpulseError("QUERY_FAILED", "This hub keeps no runs.");
    const wanted = match.toLowerCase();
    const runs = found.runs
      .map(({ run }) => run)
      .filter(({ id, label, host }) => `${id}\n${label}\n${host}`.toLowerCase().includes(wanted))
      .sort((a, b) => b.startedMs - a.startedMs);
    return {
      summary: runs.length === 0 ? "No run is recorded." : `${runs.length} runs.`,
      columns: [
        { title: "RUN" },
        { title: "LABEL" },
        { title: "HOST" },
        { title: "STARTED" },
        { title: "DURATION", unit: "s" },
        { title: "WORK" },
        { title: "SYSTEM" },
      ],
      rows: runs
        .slice(offset, offset + limit)
        .map((run) => [
          name(run.id, 100),
          name(run.label),
          name(run.host),
          instant(run.startedMs),
          number(run.durationSeconds, 1),
          name(run.work && `${Number(run.work.amount.toPrecision(6))} ${run.work.unit}`),
          run.complete ? name(run.verdict.verdict) : word("interrupted"),
        ]),
      offset,
      total: runs.length,
      rerun: [{ route }],
      page: "compare",
    };
  },
});

const names = (description: string) =>
  v.optional(
    v.pipe(
      v.array(
        v.pipe(v.string("text"), v.minLength(1, "text"), v.maxLength(300, "a name")),
        "a list",
      ),
      v.maxLength(8, "a list of at most 8"),
      v.description(description),
    ),
    [],
  );

const isComparison = (data: unknown): data is Comparison =>
  typeof data === "object" &&
  data !== null &&
  "format" in data &&
  data.format === "gpulse-comparison" &&
  "version" in data &&
  data.version === 2;

/** The UUID of a GPU that is named by its place, with the time behind it as given: `gpu-node-3:0@-24h`. */
async function resolvePlace(gpu: string, context: ToolContext): Promise<string> {
  const [, place, time = ""] = /^((?:[^@]+:)?\d{1,3})(@.*)?$/.exec(gpu) ?? [];
  return place === undefined ? gpu : `${(await resolveGpu(place, context)) ?? place}${time}`;
}

export const compareSubjects = defineTool({
  name: "compare",
  title: "Compare runs, GPUs or hosts",
  description:
    "Compares recorded runs, or GPUs or hosts over a time range, metric by metric with 95 % intervals and a verdict: real difference, same, or undecided. Append @-24h to a GPU or host for the same length of time a day before.",
  input: v.strictObject({
    runs: names("Ids of recorded runs, as list_runs returns them."),
    gpus: names("UUIDs of GPUs, or HOST:INDEX."),
    hosts: names("Names of hosts."),
    from: text(`Start of the range of GPUs or hosts (default: 1h before the end): ${timeHint}.`),
    to: text(`End of the range (default: now): ${timeHint}.`),
    ...paging,
  }),
  example: { gpus: ["GPU-1f2e3d4c", "GPU-5b6a7988"], from: "2h" },
  run: async ({ runs, gpus, hosts, from, to, limit, offset }, { hub, nowMs }) => {
    if (runs.length + gpus.length + hosts.length === 0)
      throw new GpulseError("USAGE", "Name runs, or gpus or hosts, to compare.");
    if (runs.length > 0 && gpus.length + hosts.length > 0)
      throw new GpulseError("USAGE", "Compare runs with runs, or GPUs and hosts with each other.");
    const toMs = to === undefined ? nowMs : timeOf("to", to, nowMs);
    const fromMs = from === undefined ? toMs - 3_600_000 : timeOf("from", from, nowMs);
    const range = { start: fromMs / 1_000, end: toMs / 1_000 };
    const uuids: string[] = [];
    for (const gpu of gpus) uuids.push(await resolvePlace(gpu, { hub, nowMs }));
    const route = routeOf("/api/compare", {
      run: runs,
      gpu: uuids,
      host: hosts,
      ...(runs.length === 0 && range),
    });
    const { data } = await readRoute(hub, route, v.object({ data: v.unknown() }));
    if (!isComparison(data))
      throw new GpulseError("QUERY_FAILED", "The hub cannot compare: update the hub.");
    const parameters = runs.length > 0 ? { runs: runs.join(",") } : { gpus: uuids.join(",") };
    return comparisonAnswer(data, { limit, offset, route, page: pageOf("compare", parameters) });
  },
});

function comparisonAnswer(
  comparison: Comparison,
  { limit, offset, route, page }: { limit: number; offset: number; route: string; page: string },
): ToolAnswer {
  const letters = comparison.subjects.map((_, at) => String.fromCodePoint(65 + at));
  const subjects = comparison.subjects.map(
    (one, at) => `${letters[at] ?? ""} is ${quoteText(one.name, 120)}`,
  );
  const rows = metricRows(comparison);
  return {
    summary: `${subjects.join(", ")}. Differences are against A, at the 95 % level of each metric separately.`,
    columns: [
      "METRIC",
      ...letters,
      ...letters.slice(1).flatMap((letter) => [`${letter} AGAINST A`, "95 % INTERVAL", "VERDICT"]),
    ].map((title) => ({ title })),
    rows: rows.slice(offset, offset + limit).map(({ title, means, differences }) => [
      word(title),
      // The unit of work is a user-defined name.
      ...means.map((mean) => name(mean.replaceAll("\u00a0", " "))),
      ...differences.flatMap(({ difference, interval, verdict }) => [
        name(difference.replaceAll("\u00a0", " ")),
        name(interval.replaceAll("\u00a0", " ")),
        name(verdict),
      ]),
    ]),
    offset,
    total: rows.length,
    notes: comparison.caveats
      .slice(0, 5)
      .map(({ level, sentence }) => `${level}: ${quoteText(sentence, 300)}`),
    rerun: [{ route }],
    page,
  };
}
