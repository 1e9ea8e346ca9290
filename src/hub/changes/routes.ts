/**
 * Changes in a time range:
 *
 *   GET /api/changes?gpu=UUID | host=NAME | job=ID &from=SECONDS|RFC 3339 &to=SECONDS|RFC 3339
 */
import type { FastifyInstance } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { parseTimeMs } from "../../config/time.ts";
import { longestRangeMs, shortestRangeMs } from "../../view/changes/grid.ts";
import { changeSubjectKinds } from "../../view/changes/subject.ts";
import { subjectName } from "../explain/routes.ts";
import { type ExplainContext, resolveSubject } from "../explain/subject.ts";
import { ExplainTurns } from "../explain/turns.ts";
import { noStore, sendError } from "../reply.ts";
import { findChanges } from "./search.ts";

const changesQuery = v.strictObject({
  gpu: v.optional(subjectName),
  host: v.optional(subjectName),
  job: v.optional(subjectName),
  from: v.string(),
  to: v.string(),
});

/** @param turns limits concurrency together with other expensive routes */
export function addChanges(
  app: FastifyInstance,
  context: ExplainContext,
  turns = new ExplainTurns(),
): void {
  app.get("/api/changes", async ({ query }, reply) => {
    const checked = checkValue(changesQuery, query);
    if (!checked.ok)
      return sendError(
        reply,
        400,
        checked.problems[0]?.sentence ?? "The request is not understood.",
      );
    const subjects = changeSubjectKinds.flatMap((kind) => {
      const id = checked.value[kind];
      return id === undefined ? [] : [{ kind, id }];
    });
    const [asked] = subjects;
    if (asked === undefined || subjects.length > 1)
      return sendError(reply, 400, "Name one of gpu=UUID, host=NAME or job=ID.");
    const range = readRange(checked.value, context.nowMs());
    if ("problem" in range) return sendError(reply, 400, range.problem);
    const { fromMs, toMs } = range;
    return turns.run(reply, async (signal) => {
      const resolved = await resolveSubject(context, asked.kind, asked.id, toMs);
      if ("missing" in resolved) return sendError(reply, 404, resolved.missing);
      const subject = { ...resolved.subject, kind: asked.kind };
      const request = { resolved: { ...resolved, subject }, fromMs, toMs };
      return noStore(reply).send(await findChanges(context.history, request, signal));
    });
  });
}

/** Parses the range; an end in the future is replaced by now. */
function readRange(
  { from, to }: { readonly from: string; readonly to: string },
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } | { readonly problem: string } {
  const [fromMs, endMs] = [parseTimeMs(from), parseTimeMs(to)];
  if (fromMs === undefined || endMs === undefined)
    return {
      problem: "from and to take seconds since 1970 or a time such as 2026-11-01T12:00:00Z.",
    };
  const toMs = Math.min(endMs, nowMs);
  if (toMs - fromMs < shortestRangeMs)
    return {
      problem: "The range is too short: from has to be at least 10 s before to, and before now.",
    };
  if (toMs - fromMs > longestRangeMs)
    return { problem: "The range is too long: choose at most 7 days." };
  return { fromMs: Math.round(fromMs), toMs: Math.round(toMs) };
}
