/** Runs `gpulse jobs`: queries a hub's ledger and prints a table, JSON or CSV. */
import { writeFileSync } from "node:fs";
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { csvCell } from "../../lake/analyses/report/text.ts";
import { isClosed } from "../../runs/jobs/day-books.ts";
import { bookSchema, jobSchema } from "../../runs/jobs/entry.ts";
import { billSchema, type JobSummary, jobSummarySchema } from "../../view/jobs/summary.ts";
import { costText, massText } from "../../view/jobs/price.ts";
import { formatState } from "../../view/jobs/state.ts";
import { clock, jobText, kilowattHours, stretchRows } from "../../view/jobs/text.ts";
import { percent } from "../../view/jobs/verdict.ts";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { countOf } from "../command/quantity.ts";
import { HubClient } from "../hub-client.ts";
import { alignColumns } from "../table.ts";
import { bookTable, streamBooks } from "./books.ts";

export interface JobQueryFlags extends ClientFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

interface PeriodFlags extends JobQueryFlags {
  readonly from?: string;
  readonly to?: string;
}

export interface ListFlags extends PeriodFlags {
  readonly state?: string;
  readonly user?: string;
  readonly account?: string;
  readonly kind?: string;
  readonly only?: string;
  readonly match?: string;
  readonly limit?: string;
}

export interface JobShowFlags extends JobQueryFlags {
  readonly out?: string;
  readonly text?: boolean;
}

export interface ForgetFlags extends JobQueryFlags {
  readonly pseudonym?: boolean;
  readonly yes?: boolean;
}

export interface BillFlags extends PeriodFlags {
  readonly by?: string;
}

export interface BooksFlags extends PeriodFlags {
  readonly all?: boolean;
  readonly source?: string;
}

const listSchema = v.object({
  jobs: v.array(jobSummarySchema),
  total: v.number(),
  nowMs: v.number(),
  problems: v.array(v.string()),
});
const oneSchema = v.object({
  job: jobSchema,
  cost: v.optional(v.number()),
  currency: v.optional(v.string()),
  co2Grams: v.optional(v.number()),
  nowMs: v.optional(v.number()),
});
const idleSchema = v.object({
  jobs: v.array(
    v.object({
      id: v.string(),
      name: v.string(),
      user: v.optional(v.string()),
      gpus: v.array(v.object({ host: v.string(), gpu: v.number(), uuid: v.string() })),
      heldGpus: v.number(),
      sinceMs: v.number(),
      notifiedMs: v.optional(v.number()),
      keepUntilMs: v.optional(v.number()),
      actedMs: v.optional(v.number()),
    }),
  ),
});
const forgetSchema = v.object({
  jobs: v.number(),
  days: v.number(),
  running: v.number(),
  pseudonym: v.optional(v.string()),
});
const booksSchema = v.object({ books: v.array(bookSchema) });

export async function listJobs(flags: ListFlags, io: CommandIo): Promise<number> {
  const { state, user, account, kind, only, match, from, to, limit } = flags;
  const parameters = { state, user, account, kind, host: only, text: match, from, to, limit };
  const { jobs, total, nowMs, problems } = await ask(flags, io, "", parameters, listSchema);
  if (flags.json === true) print(io, { jobs, total, problems });
  else if (flags.csv === true) io.stdout.write(csv(jobs));
  else if (jobs.length === 0) {
    const isFiltered =
      state !== "all" || [user, account, kind, only, match].some((one) => one !== undefined);
    io.stdout.write(
      `No jobs in this period${isFiltered ? " match" : ""}. Choose an earlier start with --from${isFiltered ? ", or fewer conditions" : ""}.\n`,
    );
  } else {
    io.stdout.write(alignColumns([listHead, ...jobs.map((job) => listRow(job, nowMs))]));
    if (total > jobs.length)
      io.stdout.write(`\n${jobs.length} of ${countOf(total, "job")}: pass --limit for more.\n`);
  }
  for (const problem of problems) io.stderr.write(`gpulse: ${problem}\n`);
  return 0;
}

const listHead = [
  "JOB",
  "NAME",
  "USER",
  "ACCOUNT",
  "STATE",
  "STARTED",
  "GPUS",
  "GPU TIME",
  "USEFUL",
  "ENERGY",
];

function listRow(job: JobSummary, nowMs: number): string[] {
  const known = job.gpuSeconds - job.unknownSeconds;
  return [
    job.id,
    job.name,
    job.user ?? "-",
    job.account ?? "-",
    formatState(job, nowMs, " "),
    new Date(job.startMs).toISOString().slice(0, 19),
    String(job.gpus),
    clock(job.gpuSeconds),
    known > 0 ? percent(job.usefulSeconds / known) : "not known",
    kilowattHours(job.joules),
  ];
}

export async function listIdle(flags: JobQueryFlags, io: CommandIo): Promise<number> {
  const { jobs } = await ask(flags, io, "/idle", {}, idleSchema);
  const time = (ms: number | undefined): string =>
    ms === undefined ? "-" : new Date(ms).toISOString().slice(0, 19);
  if (flags.json === true) print(io, { jobs });
  else if (jobs.length === 0) io.stdout.write("No running job holds idle GPUs.\n");
  else
    io.stdout.write(
      alignColumns([
        ["JOB", "NAME", "USER", "IDLE GPUS", "IDLE SINCE", "NOTIFIED", "KEPT UNTIL"],
        ...jobs.map((job) => [
          job.id,
          job.name,
          job.user ?? "-",
          `${job.gpus.length} of ${job.heldGpus}`,
          time(job.sinceMs),
          time(job.notifiedMs),
          time(job.keepUntilMs),
        ]),
      ]),
    );
  return 0;
}

export async function showJob(id: string, flags: JobShowFlags, io: CommandIo): Promise<number> {
  const found = await ask(
    flags,
    io,
    `/${encodeURIComponent(id)}`,
    {},
    v.looseObject(oneSchema.entries),
  );
  if (flags.json === true) print(io, found);
  else
    io.stdout.write(
      `${jobText(found.job, found, found.nowMs)}${found.job.stretches.length === 0 ? "" : `\n${alignColumns(stretchRows(found.job.stretches))}`}`,
    );
  return 0;
}

export async function reportJob(id: string, flags: JobShowFlags, io: CommandIo): Promise<number> {
  const form = flags.text === true ? "text" : "report";
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  const { status, body } = await client.download(`/api/jobs/${encodeURIComponent(id)}/${form}`);
  if (status !== 200) throw refusal(status, JSON.parse(body.toString("utf8")));
  if (flags.out === undefined) io.stdout.write(body.toString("utf8"));
  else writeFileSync(flags.out, body);
  return 0;
}

export async function exportJobs(
  user: string,
  flags: JobShowFlags,
  io: CommandIo,
): Promise<number> {
  const lines = await recordsOf(user, flags, io);
  if (flags.out === undefined) io.stdout.write(lines);
  else writeFileSync(flags.out, lines, { mode: 0o600 });
  return 0;
}

export async function forgetJobs(user: string, flags: ForgetFlags, io: CommandIo): Promise<number> {
  if (flags.yes !== true) {
    const records = (await recordsOf(user, flags, io)).split("\n").length - 1;
    io.stdout.write(
      `${countOf(records, "record")} of ${user}: export them with gpulse jobs export, then pass --yes.\n`,
    );
    return 0;
  }
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  const pseudonym = flags.pseudonym === true;
  const { status, body } = await client.call("POST", "/api/jobs/forget", { user, pseudonym });
  if (status !== 200) throw refusal(status, body);
  const done = v.parse(forgetSchema, body);
  if (flags.json === true) print(io, done);
  else {
    const what = done.pseudonym === undefined ? "deleted" : `now those of ${done.pseudonym}`;
    io.stdout.write(`The records of ${countOf(done.jobs, "job")} of ${user} are ${what}.\n`);
    if (done.running > 0)
      io.stdout.write(
        `${countOf(done.running, "job")} of ${user} ${done.running === 1 ? "is" : "are"} still running: run this again afterwards.\n`,
      );
  }
  return 0;
}

async function recordsOf(user: string, flags: JobQueryFlags, io: CommandIo): Promise<string> {
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  const { status, body } = await client.download("/api/jobs/export", { user });
  if (status !== 200) throw refusal(status, JSON.parse(body.toString("utf8")));
  return body.toString("utf8");
}

export async function printBill(flags: BillFlags, io: CommandIo): Promise<number> {
  const { by, from, to } = flags;
  const { lines, currency = "" } = await ask(flags, io, "/bill", { by, from, to }, billSchema);
  if (flags.json === true) print(io, { currency, lines });
  else if (flags.csv === true) io.stdout.write(csv(lines));
  else if (lines.length === 0) io.stdout.write("No job held a GPU in this period.\n");
  else {
    const hours = (seconds: number): string => (seconds / 3_600).toFixed(seconds < 360_000 ? 2 : 1);
    const rows = lines.map((line) => [
      line.name,
      String(line.jobs),
      hours(line.gpuSeconds),
      hours(line.usefulSeconds),
      hours(line.heldIdleSeconds),
      kilowattHours(line.joules),
      line.cost === undefined ? "-" : costText(line.cost, currency),
      line.co2Grams === undefined ? "-" : massText(line.co2Grams),
    ]);
    const head = [
      (by ?? "user").toUpperCase(),
      "JOBS",
      "GPU-HOURS",
      "USEFUL",
      "IDLE",
      "ENERGY",
      "COST",
      "CO2",
    ];
    io.stdout.write(alignColumns([head, ...rows]));
  }
  return 0;
}

export async function printBooks(flags: BooksFlags, io: CommandIo): Promise<number> {
  const { from, to } = flags;
  const books =
    flags.source === undefined
      ? (await ask(flags, io, "/books", { from, to }, booksSchema)).books
      : await streamBooks(flags.source, io);
  if (flags.json === true) print(io, { books });
  else if (flags.csv === true) io.stdout.write(csv(books.map(({ gaps: _, ...book }) => book)));
  else io.stdout.write(bookTable(books, flags.all === true));
  return books.every(isClosed) ? 0 : 1;
}

async function ask<Schema extends v.GenericSchema>(
  flags: JobQueryFlags,
  io: CommandIo,
  path: string,
  parameters: Readonly<Record<string, string | undefined>>,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, value);
  const url = flags.url ?? defaultHubUrl;
  const client = new HubClient(url, clientAccess(flags, io.env));
  const { status, body } = await client.call("GET", `/api/jobs${path}?${query.toString()}`);
  if (status !== 200) throw refusal(status, body);
  const parsed = v.safeParse(schema, body);
  if (!parsed.success)
    throw new GpulseError(
      "QUERY_FAILED",
      `The response of ${url} is not that of a gpulse hub of this version. Check --url.`,
    );
  return parsed.output;
}

function refusal(status: number, body: unknown): GpulseError {
  const parsed = v.safeParse(v.object({ error: v.string() }), body);
  const sentence = parsed.success ? parsed.output.error : `The hub answered ${status}.`;
  return new GpulseError(
    status === 400 ? "USAGE" : "QUERY_FAILED",
    status === 404 && sentence.startsWith("There is nothing at")
      ? "This hub keeps no job ledger: start it without --jobs-retention 0."
      : sentence,
  );
}

function csv(rows: readonly object[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown): string => {
    if (value === undefined || value === null) return "";
    if (typeof value === "number" || typeof value === "string") return csvCell(value);
    return csvCell(Array.isArray(value) ? value.join(" ") : JSON.stringify(value));
  };
  const lines = rows.map((row) => {
    const values = new Map<string, unknown>(Object.entries(row));
    return names.map((name) => cell(values.get(name)));
  });
  return [names, ...lines].map((line) => `${line.join(",")}\n`).join("");
}

const print = (io: CommandIo, value: unknown): void => {
  io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
};
