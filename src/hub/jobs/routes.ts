/**
 * The job ledger over HTTP:
 *
 *   GET /api/jobs?state=running&user=ada&from=…&to=…&limit=100   the list
 *   GET /api/jobs?uuid=GPU-1&host=a&from=…&to=…                  the jobs of one GPU, each with what it `held` of it
 *   GET /api/jobs/bill?by=user&from=…&to=…                       sums of a period
 *   GET /api/jobs/books?from=…&to=…                              energy by GPU and day
 *   GET /api/jobs/ID                                             one job, with its GPUs and hours
 *   GET /api/jobs/ID/text, /api/jobs/ID/report                   the same as text and as a report
 *   POST /api/jobs/export {"user":"ada"}                         all records of a user, one JSON object per line
 *   POST /api/jobs/forget {"user":"ada","pseudonym":false}       deletes or pseudonymizes them
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { resolveTimeMs } from "../../config/time.ts";
import { Bill, billGroups } from "../../runs/jobs/bill.ts";
import { bookError, isClosed } from "../../runs/jobs/day-books.ts";
import { dayMs, type JobHour, jobKinds, type JobRecord } from "../../runs/jobs/record.ts";
import type { Tariff } from "../../runs/jobs/tariff.ts";
import { jobHtml, reportStyle } from "../../view/jobs/report-html.ts";
import { summarizeJob } from "../../view/jobs/summary.ts";
import { type JobPrice, jobText } from "../../view/jobs/text.ts";
import { guardHeaders } from "../guard.ts";
import { noStore, sendError } from "../reply.ts";
import type { HubJobs } from "./jobs.ts";
import { exportUser, forgetUser } from "./privacy.ts";
import { JobQueries } from "./query.ts";

export interface JobTariffs {
  readonly price?: Tariff | undefined;
  readonly currency?: string | undefined;
  readonly co2?: Tariff | undefined;
}

const weekMs = 7 * dayMs;
const mostJobs = 10_000;
const number = v.pipe(v.string(), v.regex(/^\d{1,9}$/, "a whole number"), v.transform(Number));

const period = { from: v.optional(v.string()), to: v.optional(v.string()) };
const listQuery = v.strictObject({
  ...period,
  state: v.optional(v.picklist(["running", "ended", "all"], "running, ended or all")),
  user: v.optional(v.string()),
  account: v.optional(v.string()),
  kind: v.optional(v.picklist(jobKinds, jobKinds.join(", "))),
  host: v.optional(v.string()),
  uuid: v.optional(v.string()),
  text: v.optional(v.string()),
  limit: v.optional(number, "100"),
  offset: v.optional(number, "0"),
});
const billQuery = v.strictObject({
  ...period,
  by: v.optional(v.picklist(billGroups, billGroups.join(", ")), "user"),
});
const userBody = v.strictObject({
  user: v.pipe(v.string("a user name"), v.minLength(1), v.maxLength(256)),
});
const forgetBody = v.strictObject({
  ...userBody.entries,
  pseudonym: v.optional(v.boolean("true or false"), false),
});
const booksQuery = v.strictObject(period);

/** The report is one file to attach to a mail, with its style in it. */
const reportPolicy = (guardHeaders["content-security-policy"] ?? "").replace(
  "style-src 'self'",
  `style-src 'sha256-${createHash("sha256").update(reportStyle).digest("base64")}'`,
);

export function addJobs(
  app: FastifyInstance,
  jobs: HubJobs,
  tariffs: JobTariffs,
  nowMs: () => number,
): void {
  const queries = new JobQueries(jobs, nowMs);

  app.get("/api/jobs", async ({ query }, reply) => {
    const checked = checkQuery(listQuery, query, nowMs(), reply);
    if (checked === undefined) return reply;
    const { state = "all", user, limit, offset, from: _, to: __, ...selection } = checked;
    const found = await queries.list({
      ...selection,
      users: user === undefined ? undefined : jobs.namesOf(user),
      state: state === "all" ? undefined : state,
      limit: Math.min(limit, mostJobs),
      offset,
    });
    return noStore(reply).send({ nowMs: nowMs(), problems: jobs.problems(), ...found });
  });

  app.get("/api/jobs/bill", async ({ query }, reply) => {
    const checked = checkQuery(billQuery, query, nowMs(), reply);
    if (checked === undefined) return reply;
    const { by, fromMs, toMs } = checked;
    const lines = await queries.bill({ by, fromMs, toMs, ...tariffs });
    return noStore(reply).send({ fromMs, toMs, by, currency: tariffs.currency, lines });
  });

  app.get("/api/jobs/books", async ({ query }, reply) => {
    const checked = checkQuery(booksQuery, query, nowMs(), reply);
    if (checked === undefined) return reply;
    const { fromMs, toMs } = checked;
    const books = (await queries.books(fromMs, toMs)).map((book) => ({
      ...book,
      errorRatio: bookError(book),
      closed: isClosed(book),
    }));
    return noStore(reply).send({ fromMs, toMs, books });
  });

  app.get<{ Params: { id: string } }>("/api/jobs/:id", async ({ params }, reply) => {
    const job = await queries.find(params.id);
    if (job === undefined) return missing(reply, params.id);
    const hours = await queries.hoursOf(job);
    return noStore(reply).send({
      summary: summarizeJob(job),
      job,
      hours,
      nowMs: nowMs(),
      ...priceOf(job, hours, tariffs),
    });
  });

  app.get<{ Params: { id: string } }>("/api/jobs/:id/text", async ({ params }, reply) => {
    const job = await queries.find(params.id);
    if (job === undefined) return missing(reply, params.id);
    const text = jobText(job, priceOf(job, await queries.hoursOf(job), tariffs), nowMs());
    return noStore(reply).type("text/plain; charset=utf-8").send(text);
  });

  app.get<{ Params: { id: string } }>("/api/jobs/:id/report", async ({ params }, reply) => {
    const job = await queries.find(params.id);
    if (job === undefined) return missing(reply, params.id);
    const hours = await queries.hoursOf(job);
    const html = jobHtml(job, hours, priceOf(job, hours, tariffs), nowMs());
    return noStore(reply)
      .header("content-security-policy", reportPolicy)
      .type("text/html; charset=utf-8")
      .send(html);
  });
}

/** Both need the admin scope and are recorded in the audit log, like every change. */
export function addJobPrivacy(app: FastifyInstance, jobs: HubJobs): void {
  app.post("/api/jobs/export", async (request, reply) => {
    const asked = checkValue(userBody, request.body);
    if (!asked.ok) return sendError(reply, 400, asked.problems[0]?.sentence ?? "");
    const { user } = asked.value;
    request.audited = { target: user, why: "exported the job records of a user" };
    const lines = async function* () {
      for (const name of new Set([user, jobs.pseudonyms.of(user)]))
        for await (const record of exportUser(jobs, name)) yield `${JSON.stringify(record)}\n`;
    };
    return noStore(reply).type("application/x-ndjson").send(Readable.from(lines()));
  });

  app.post("/api/jobs/forget", async (request, reply) => {
    const asked = checkValue(forgetBody, request.body);
    if (!asked.ok) return sendError(reply, 400, asked.problems[0]?.sentence ?? "");
    const { user, pseudonym } = asked.value;
    const name = pseudonym ? jobs.pseudonyms.of(user) : undefined;
    const done = await forgetUser(jobs, user, name);
    const hidden = pseudonym
      ? undefined
      : await forgetUser(jobs, jobs.pseudonyms.of(user), undefined);
    const count = done.jobs + (hidden?.jobs ?? 0);
    const what = pseudonym ? `put under the pseudonym ${name}` : "deleted";
    request.audited = { target: user, why: `job records ${what}: ${count}` };
    return noStore(reply).send({
      jobs: count,
      days: done.days + (hidden?.days ?? 0),
      running: done.running,
      pseudonym: name,
    });
  });
}

/** Hours beyond the retention are missing from the price. */
function priceOf(job: JobRecord, hours: readonly JobHour[], tariffs: JobTariffs): JobPrice {
  const bill = new Bill({ by: "job", fromMs: 0, toMs: Number.POSITIVE_INFINITY, ...tariffs });
  bill.add({ id: job.id, name: job.name, kind: job.kind, hours });
  const [line] = bill.lines();
  return { cost: line?.cost, currency: tariffs.currency, co2Grams: line?.co2Grams };
}

function checkQuery<
  Schema extends v.GenericSchema<unknown, { from?: string | undefined; to?: string | undefined }>,
>(
  schema: Schema,
  query: unknown,
  nowMs: number,
  reply: FastifyReply,
): (v.InferOutput<Schema> & { readonly fromMs: number; readonly toMs: number }) | undefined {
  const checked = checkValue(schema, query);
  if (!checked.ok) {
    void sendError(reply, 400, checked.problems[0]?.sentence ?? "The request is not understood.");
    return undefined;
  }
  const toMs = checked.value.to === undefined ? nowMs : resolveTimeMs(checked.value.to, nowMs);
  const fromMs =
    checked.value.from === undefined
      ? (toMs ?? nowMs) - weekMs
      : resolveTimeMs(checked.value.from, nowMs);
  if (fromMs === undefined || toMs === undefined || fromMs > toMs) {
    void sendError(
      reply,
      400,
      "from and to take a day such as 2026-11-01, a time such as 2026-11-01T12:00:00Z or how long ago, such as 30d; from is before to.",
    );
    return undefined;
  }
  return { ...checked.value, fromMs, toMs };
}

const missing = (reply: FastifyReply, id: string): FastifyReply =>
  sendError(reply, 404, `There is no job ${JSON.stringify(id.slice(0, 100))} in the ledger.`);
