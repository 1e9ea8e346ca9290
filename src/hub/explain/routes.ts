/**
 * Why something is as it is:
 *
 *   GET /api/explain?gpu=UUID | host=NAME | job=ID | alert=FINGERPRINT [&time=SECONDS|RFC 3339]
 */
import type { FastifyInstance } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { parseTimeMs } from "../../config/time.ts";
import { QueryError } from "../../query/errors.ts";
import { type SubjectKind, subjectKinds } from "../../view/explain/explanation.ts";
import { noStore, sendError } from "../reply.ts";
import { explainSubject } from "./explain.ts";
import { type ExplainContext, resolveSubject } from "./subject.ts";

const name = v.pipe(v.string(), v.nonEmpty("a name"), v.maxLength(500, "at most 500 characters"));
const explainQuery = v.strictObject({
  gpu: v.optional(name),
  host: v.optional(name),
  job: v.optional(name),
  alert: v.optional(name),
  time: v.optional(v.string()),
});

/** One explanation reads some millions of samples: more at once would hold everybody else up. */
const mostAtOnce = 2;
const mostWaiting = 16;
const retryAfterSeconds = 2;

export function addExplain(app: FastifyInstance, context: ExplainContext): void {
  let running = 0;
  const waiting: (() => void)[] = [];

  app.get("/api/explain", async ({ query }, reply) => {
    const checked = checkValue(explainQuery, query);
    if (!checked.ok)
      return sendError(
        reply,
        400,
        checked.problems[0]?.sentence ?? "The request is not understood.",
      );
    const subjects = subjectKinds.flatMap((kind): { kind: SubjectKind; id: string }[] => {
      const id = checked.value[kind];
      return id === undefined ? [] : [{ kind, id }];
    });
    const [asked] = subjects;
    if (asked === undefined || subjects.length > 1)
      return sendError(reply, 400, "Name one of gpu=UUID, host=NAME, job=ID or alert=FINGERPRINT.");
    const { time } = checked.value;
    const timeMs = time === undefined ? undefined : parseTimeMs(time);
    if (time !== undefined && timeMs === undefined)
      return sendError(
        reply,
        400,
        "time takes seconds since 1970 or a time such as 2026-11-01T12:00:00Z.",
      );
    if (waiting.length >= mostWaiting)
      return sendError(
        reply.header("retry-after", retryAfterSeconds),
        503,
        "Too many explanations are asked for at once: try again in a moment.",
      );
    const abort = new AbortController();
    reply.raw.once("close", () => abort.abort());
    if (running >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    running += 1;
    try {
      const resolved = await resolveSubject(context, asked.kind, asked.id, timeMs);
      if ("missing" in resolved) return await sendError(reply, 404, resolved.missing);
      return await noStore(reply).send(await explainSubject(context, resolved, abort.signal));
    } catch (thrown) {
      if (thrown instanceof QueryError) return await sendError(reply, 503, thrown.message);
      throw thrown;
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  });
}
