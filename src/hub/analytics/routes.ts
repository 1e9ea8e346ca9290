/** `/api/analytics`: the available analyses, their results as JSON or CSV, and long ones as jobs with progress. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Analysis } from "../../lake/analyses/analysis.ts";
import { analyses, findAnalysis } from "../../lake/analyses/list.ts";
import { parameterFacts } from "../../lake/analyses/parameters.ts";
import { csvOf, objectOf } from "../../lake/analyses/report/text.ts";
import { GpulseError } from "../../base/error.ts";
import type { AnalysisQueue, AnalysisJob } from "./queue.ts";
import { noStore, sendError } from "../reply.ts";

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** How long a plain request waits for its result before it gets a link to the job instead. */
const waitMs = 20_000;

export function addAnalytics(app: FastifyInstance, queue: AnalysisQueue | undefined): void {
  app.get("/api/analytics", async (_request, reply) =>
    noStore(reply).send({ lake: queue !== undefined, analyses: analyses.map(analysisJson) }),
  );
  if (queue === undefined) {
    for (const method of ["GET", "POST"] as const)
      app.route({
        method,
        url: "/api/analytics/:name",
        handler: async (_request, reply) =>
          sendError(reply, 404, "This hub has no lake: start it with --lake."),
      });
    return;
  }

  app.get<{ Params: { name: string }; Querystring: Query }>(
    "/api/analytics/:name",
    async ({ params, query }, reply) => {
      const job = await submit(queue, params.name, query, reply);
      if (job === undefined) return reply;
      await Promise.race([
        job.ended,
        new Promise((resolve) => setTimeout(resolve, waitMs).unref()),
      ]);
      if (job.state === "waiting" || job.state === "running")
        return noStore(reply.code(202)).send(jobJson(job));
      return sendResult(job, query["format"], reply);
    },
  );

  app.post<{ Params: { name: string }; Querystring: Query; Body: unknown }>(
    "/api/analytics/:name",
    async ({ params, query, body }, reply) => {
      const given =
        typeof body === "object" && body !== null ? { ...query, ...textsOf(body) } : query;
      const job = await submit(queue, params.name, given, reply);
      return job === undefined ? reply : noStore(reply.code(202)).send(jobJson(job));
    },
  );

  app.get<{ Params: { id: string }; Querystring: Query }>(
    "/api/analytics/jobs/:id",
    async ({ params, query }, reply) => {
      const job = queue.job(params.id);
      if (job === undefined) return missing(reply, params.id);
      return job.state === "done" && query["format"] === "csv"
        ? sendResult(job, "csv", reply)
        : noStore(reply).send({
            ...jobJson(job),
            result: job.result && objectOf(job.result),
          });
    },
  );

  app.delete<{ Params: { id: string } }>("/api/analytics/jobs/:id", async ({ params }, reply) => {
    const job = queue.job(params.id);
    if (job === undefined) return missing(reply, params.id);
    job.cancel();
    await job.ended;
    return noStore(reply).send(jobJson(job));
  });
}

async function submit(
  queue: AnalysisQueue,
  name: string,
  query: Query,
  reply: FastifyReply,
): Promise<AnalysisJob | undefined> {
  const analysis = findAnalysis(name);
  if (analysis === undefined) {
    const names = analyses.map((one) => one.name).join(", ");
    await sendError(reply, 404, `There is no such analysis. There are: ${names}.`);
    return undefined;
  }
  const given = Object.fromEntries(
    Object.entries(query).flatMap(([key, value]) =>
      key === "format" || value === undefined ? [] : [[key, String(value)]],
    ),
  );
  try {
    return await queue.ask(analysis, given);
  } catch (thrown) {
    if (!(thrown instanceof GpulseError)) throw thrown;
    await sendProblem(reply, thrown);
    return undefined;
  }
}

function sendResult(
  job: AnalysisJob,
  format: Query[string],
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  if (job.result === undefined)
    return sendProblem(
      reply,
      job.problem ?? new GpulseError("ANALYSIS_FAILED", "The analysis did not end."),
    );
  if (format !== "csv") return noStore(reply).send(objectOf(job.result));
  return noStore(reply)
    .type("text/csv; charset=utf-8")
    .header("content-disposition", `attachment; filename="${job.analysis.name}.csv"`)
    .send(csvOf(job.result));
}

const statuses: Readonly<Record<string, number>> = {
  USAGE: 400,
  ANALYSIS_TOO_LARGE: 503,
  ANALYSIS_ENGINE: 501,
};

function sendProblem(reply: FastifyReply, problem: GpulseError): FastifyReply {
  // A range without stored data has no rows; the note explains why.
  if (problem.code === "LAKE_EMPTY")
    return noStore(reply).send({ rows: [], note: problem.message });
  return noStore(reply.code(statuses[problem.code] ?? 500)).send({
    error: problem.message,
    code: problem.code,
  });
}

const jobJson = ({ id, analysis, state, fraction, problem }: AnalysisJob): object => ({
  job: id,
  analysis: analysis.name,
  state,
  progress: Math.round(fraction * 1_000) / 1_000,
  href: `/api/analytics/jobs/${id}`,
  error: problem?.message,
  code: problem?.code,
});

const analysisJson = ({ name, title, summary, parameters, columns }: Analysis): object => ({
  name,
  title,
  summary,
  parameters: parameters.map((parameter) => {
    const { takes, fallback, help } = parameterFacts(parameter);
    return { name: parameter, takes, default: fallback ?? null, help };
  }),
  columns,
});

const textsOf = (body: object): Query =>
  Object.fromEntries(
    Object.entries(body).flatMap(([key, value]) =>
      typeof value === "string" || typeof value === "number" ? [[key, String(value)]] : [],
    ),
  );

const missing = (reply: FastifyReply, id: string): FastifyReply =>
  sendError(reply, 404, `There is no analysis job ${JSON.stringify(id.slice(0, 100))}.`);
