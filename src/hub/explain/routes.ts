/**
 * Explanations of a GPU, host, job or alert:
 *
 *   GET /api/explain?gpu=UUID | host=NAME | job=ID | alert=FINGERPRINT [&time=SECONDS|RFC 3339]
 */
import type { FastifyInstance } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { parseTimeMs } from "../../config/time.ts";
import { type SubjectKind, subjectKinds } from "../../view/explain/explanation.ts";
import { noStore, sendError } from "../reply.ts";
import { explainSubject } from "./explain.ts";
import { type ExplainContext, resolveSubject } from "./subject.ts";
import { ExplainTurns } from "./turns.ts";

/** Name of a GPU, host, job or alert. */
export const subjectName = v.pipe(
  v.string(),
  v.nonEmpty("a name"),
  v.maxLength(500, "at most 500 characters"),
);
const explainQuery = v.strictObject({
  gpu: v.optional(subjectName),
  host: v.optional(subjectName),
  job: v.optional(subjectName),
  alert: v.optional(subjectName),
  time: v.optional(v.string()),
});

/** @param turns limits concurrency together with other expensive routes */
export function addExplain(
  app: FastifyInstance,
  context: ExplainContext,
  turns = new ExplainTurns(),
): void {
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
    return turns.run(reply, async (signal) => {
      const resolved = await resolveSubject(context, asked.kind, asked.id, timeMs);
      if ("missing" in resolved) return sendError(reply, 404, resolved.missing);
      return noStore(reply).send(await explainSubject(context, resolved, signal));
    });
  });
}
