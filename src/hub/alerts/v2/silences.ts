/** `/api/v2/silences` and `/api/v2/silence/{id}`. */
import type { FastifyInstance } from "fastify";
import type { MatchOp } from "../../../alerting/route/matchers.ts";
import { parseMatcher } from "../../../alerting/route/parse-matchers.ts";
import {
  silenceNotFound,
  type SilenceRequest,
  type SilenceState,
  silenceState,
  type StoredSilence,
} from "../../../alerting/route/silences.ts";
import { GpulseError } from "../../../base/error.ts";
import { Params } from "../../api/params.ts";
import { parseOrBadRequest } from "./alerts.ts";
import type { V2Context } from "./context.ts";
import { missing, invalidUuid, tooFew, AlertmanagerApiError } from "./failure.ts";
import { Body } from "./read.ts";

const silenceBodyBytes = 256 * 1024;
const order: readonly SilenceState[] = ["active", "pending", "expired"];

export function addSilences(app: FastifyInstance, { router, nowMs }: V2Context): void {
  app.get("/api/v2/silences", async (request, reply) => {
    const wanted = parseOrBadRequest(() => Params.of(request).all("filter").map(parseMatcher));
    const now = nowMs();
    const found = router()
      .silences.all.filter(({ matchers }) =>
        wanted.every((asked) =>
          matchers.some(
            ({ name, op, value }) =>
              name === asked.name && op === asked.op && value === asked.value,
          ),
        ),
      )
      .sort((left, right) => inOrder(left, right, now))
      .map((silence) => toGettableSilence(silence, now));
    return reply.send(found);
  });

  app.post("/api/v2/silences", { bodyLimit: silenceBodyBytes }, async (request, reply) => {
    if (request.body === undefined) throw missing("silence");
    const asked = readSilence(request.body);
    try {
      return await reply.send({ silenceID: router().silences.set(asked, nowMs()) });
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      throw new AlertmanagerApiError(
        thrown.message === silenceNotFound ? 404 : 400,
        thrown.message,
      );
    }
  });

  app.get<{ Params: { id: string } }>("/api/v2/silence/:id", async ({ params }, reply) => {
    const silence = router().silences.get(uuid(params.id));
    if (silence === undefined) return reply.code(404).send();
    return toGettableSilence(silence, nowMs());
  });

  app.delete<{ Params: { id: string } }>("/api/v2/silence/:id", async ({ params }, reply) => {
    const id = uuid(params.id);
    try {
      router().silences.expire(id, nowMs());
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      // Alertmanager 0.25's own response, which its client knows how to show.
      throw new AlertmanagerApiError(500, thrown.message);
    }
    return reply.code(200).send();
  });
}

function uuid(given: string): string {
  if (!/^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(given)) throw invalidUuid(given);
  return given.toLowerCase();
}

function readSilence(value: unknown): SilenceRequest {
  const body = new Body("silence", "", value);
  const id = body.text("id");
  for (const name of ["comment", "createdBy", "endsAt", "matchers"]) body.need(name);
  const matchers = body.list("matchers") ?? [];
  if (matchers.length === 0) throw tooFew("matchers");
  const read = matchers.map((item, at) => readMatcher(item, `matchers.${at}`));
  body.need("startsAt");
  return {
    ...(id === undefined || id === "" ? {} : { id }),
    matchers: read,
    startsAtMs: body.timeMs("startsAt") ?? 0,
    endsAtMs: body.timeMs("endsAt") ?? 0,
    createdBy: body.text("createdBy") ?? "",
    comment: body.text("comment") ?? "",
  };
}

function readMatcher(value: unknown, place: string): SilenceRequest["matchers"][number] {
  const body = new Body("silence", place, value);
  for (const name of ["isRegex", "name", "value"]) body.need(name);
  const [equal, regex] = [body.truth("isEqual") ?? true, body.truth("isRegex") ?? false];
  const op: MatchOp = regex ? (equal ? "=~" : "!~") : equal ? "=" : "!=";
  return { name: body.text("name") ?? "", op, value: body.text("value") ?? "" };
}

/** Active silences by their end, pending ones by their start, expired ones by their end, latest first. */
function inOrder(left: StoredSilence, right: StoredSilence, nowMs: number): number {
  const [one, other] = [silenceState(left, nowMs), silenceState(right, nowMs)];
  if (one !== other) return order.indexOf(one) - order.indexOf(other);
  if (one === "active") return left.endsAtMs - right.endsAtMs;
  return one === "pending" ? left.startsAtMs - right.startsAtMs : right.endsAtMs - left.endsAtMs;
}

function toGettableSilence(silence: StoredSilence, nowMs: number) {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    id: silence.id,
    status: { state: silenceState(silence, nowMs) },
    updatedAt: iso(silence.updatedAtMs),
    comment: silence.comment,
    createdBy: silence.createdBy,
    endsAt: iso(silence.endsAtMs),
    matchers: silence.matchers.map(({ name, op, value }) => ({
      isEqual: !op.startsWith("!"),
      isRegex: op.endsWith("~"),
      name,
      value,
    })),
    startsAt: iso(silence.startsAtMs),
  };
}
