/** `/api/compare`: compares GPUs, hosts and time ranges of the history, or recorded runs. Read-only; all parameters are in the URL. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { compare, type Comparison } from "../../runs/compare/compare.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { QueryError } from "../../query/errors.ts";
import type { RunFile } from "../../runs/run.ts";
import { PrometheusApiError, invalidParameter } from "../api/failure.ts";
import { Params } from "../api/params.ts";
import { parseTimeMs } from "../../config/time.ts";
import { compareLive } from "./compare-live.ts";
import type { LiveSubject } from "./live.ts";
import { subjectsOf } from "./run-series.ts";
import type { SampleHistory } from "./samples.ts";
import { rejectUnknownSubjects } from "./unknown-subjects.ts";
import { noStore } from "../reply.ts";

export interface CompareContext {
  readonly history: SampleHistory;
  /** The recorded runs; absent on a hub without a run store. */
  readonly runs?: { read(id: string): Promise<RunFile | undefined> };
  readonly nowMs: () => number;
  readonly version: string;
}

const MOST_SUBJECTS = 8;
const MOST_RUNS = 100;
const usualRangeMs = 3_600_000;

export async function addCompare(app: FastifyInstance, context: CompareContext): Promise<void> {
  await app.register(async (api) => {
    api.setErrorHandler(async (thrown, _request, reply) => {
      const failure = failureOf(thrown);
      if (failure === undefined) throw thrown;
      return reply.code(failure.status).type("application/json").send(failure.body);
    });
    api.get("/api/compare", async (request, reply) => {
      const abort = new AbortController();
      reply.raw.once("close", () => abort.abort());
      const params = Params.of(request);
      const ids = params.all("run");
      const comparison =
        ids.length > 0
          ? await compareRuns(ids, params.text("repeats"), context)
          : await compareHistory(params, context, abort.signal);
      return answer(reply, comparison, params.text("format") ?? "json", context);
    });
  });
}

async function compareRuns(
  ids: readonly string[],
  repeats: string | undefined,
  { runs }: CompareContext,
): Promise<Comparison> {
  if (repeats !== undefined && repeats !== "all")
    throw invalidParameter("repeats", `"${repeats}" is not all`);
  if (runs === undefined) throw new PrometheusApiError("not_found", "This hub keeps no runs.");
  if (ids.length > MOST_RUNS) throw invalidParameter("run", `at most ${MOST_RUNS} runs`);
  const named = [];
  // Reads sequentially: a run may be large.
  for (const id of ids) {
    const file = await runs.read(id);
    if (file === undefined)
      throw new PrometheusApiError(
        "not_found",
        `There is no run ${JSON.stringify(id.slice(0, 100))}.`,
      );
    named.push({ name: id, file });
  }
  // A single run is valid: the page shows its figures until the second is selected.
  return compare(subjectsOf(named, 1), { keepsWarmUp: repeats === "all" });
}

async function compareHistory(
  params: Params,
  { history, nowMs }: CompareContext,
  signal: AbortSignal,
): Promise<Comparison> {
  const end = params.timeMs("end", nowMs());
  const start = params.timeMs("start", end - usualRangeMs);
  if (!(start < end)) throw invalidParameter("end", "end timestamp must not be before start time");
  const subjects = (["gpu", "host"] as const).flatMap((kind) =>
    params.all(kind).map((text) => readSubject(kind, text, start, end)),
  );
  if (subjects.length === 0 || subjects.length > MOST_SUBJECTS)
    throw new PrometheusApiError(
      "bad_data",
      `Name 1 to ${MOST_SUBJECTS} subjects with gpu=UUID or host=NAME, or recorded runs with run=ID.`,
    );
  await rejectUnknownSubjects(subjects, history, nowMs());
  const [workQuery, workUnit] = [params.text("work"), params.text("unit")];
  return compareLive(subjects, {
    history,
    names: params.all("name"),
    signal,
    ...(workQuery === undefined ? {} : { workQuery }),
    ...(workUnit === undefined ? {} : { workUnit }),
  });
}

/** Parses `UUID`, `UUID@HOST`, and either with `@-24h` or `@2026-01-31T14:00:00Z`: the same duration at another time. */
export function readSubject(
  kind: LiveSubject["kind"],
  text: string,
  fromMs: number,
  toMs: number,
): LiveSubject {
  const at = text.lastIndexOf("@");
  if (at <= 0) return { ...subjectName(kind, text), fromMs, toMs };
  const when = text.slice(at + 1);
  const backMs = when.startsWith("-") ? parseDurationMs(when.slice(1)) : undefined;
  const instant = when.startsWith("-") ? undefined : parseTimeMs(when);
  const from = backMs === undefined ? instant : fromMs - backMs;
  const isHost = kind === "gpu" && !/^(?:-|$)/.test(when);
  if (from === undefined && isHost) return { ...subjectName(kind, text), fromMs, toMs };
  if (from === undefined)
    throw invalidParameter(kind, `"${when}" is neither -DURATION nor a time as RFC 3339`);
  return { ...subjectName(kind, text.slice(0, at)), fromMs: from, toMs: from + (toMs - fromMs) };
}

function subjectName(
  kind: LiveSubject["kind"],
  text: string,
): Pick<LiveSubject, "kind" | "name" | "host"> {
  const at = kind === "gpu" ? text.lastIndexOf("@") : -1;
  return at <= 0
    ? { kind, name: text }
    : { kind, name: text.slice(0, at), host: text.slice(at + 1) };
}

async function answer(
  reply: FastifyReply,
  comparison: Comparison,
  format: string,
  { nowMs, version }: CompareContext,
): Promise<FastifyReply> {
  noStore(reply);
  if (format === "json") return reply.send({ status: "success", data: comparison });
  if (format === "markdown") {
    const { markdownOf } = await import("../../runs/compare/report/markdown.ts");
    return reply.type("text/markdown; charset=utf-8").send(markdownOf(comparison));
  }
  if (format === "csv") {
    const { csvOf } = await import("../../runs/compare/report/csv.ts");
    return reply.type("text/csv; charset=utf-8").send(csvOf(comparison));
  }
  if (format === "html") {
    const { htmlOf } = await import("../../runs/compare/report/html.ts");
    // The report has inline styles, which the hub's content security policy forbids, so it is sent as a download.
    return reply
      .type("text/html; charset=utf-8")
      .header("content-disposition", 'attachment; filename="comparison.html"')
      .send(htmlOf(comparison, { madeMs: nowMs(), version }));
  }
  throw invalidParameter("format", `"${format}" must be json, html, markdown or csv`);
}

function failureOf(thrown: unknown): PrometheusApiError | undefined {
  if (thrown instanceof PrometheusApiError) return thrown;
  if (thrown instanceof QueryError) return new PrometheusApiError(thrown.kind, thrown.message);
  if (thrown instanceof GpulseError) return new PrometheusApiError("bad_data", formatError(thrown));
  return undefined;
}
