/** `/api/events`, `POST /alert` and the runbook: the timeline, its external events, and instructions for alerts. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as v from "valibot";
import { runbookChapters, runbookSections } from "../../alerting/pack/runbook.ts";
import { checkValue } from "../../config/check.ts";
import type { EventStore } from "./store.ts";
import { type EventKind, eventKinds, eventSeverities, type TimelineEvent } from "./event.ts";
import { PrometheusApiError, invalidParameter } from "../api/failure.ts";
import { Params, parseSelectorParam } from "../api/params.ts";
import { parseTimeMs, fullTimeRange } from "../../config/time.ts";
import {
  alertBodyBytes,
  AlertQuota,
  processAlertsFairly,
  maxAlertOpenings,
} from "../limits/alert-quota.ts";
import { clientOf } from "../limits/client.ts";
import { countOpenings } from "../limits/json-size.ts";
import { formatError } from "../../base/error.ts";
import type { AlertActions } from "./actions.ts";
import { alertEvent } from "./alert-events.ts";
import { readPayload } from "./payload.ts";
import { noStore } from "../reply.ts";

export interface EventRoutesContext {
  readonly store: EventStore;
  readonly actions: AlertActions;
  readonly nowMs: () => number;
}

const usualLimit = 1_000;
const mostEvents = 10_000;

export async function addEvents(
  app: FastifyInstance,
  context: EventRoutesContext,
  quota = new AlertQuota(),
): Promise<void> {
  await app.register(async (api) => {
    api.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
      const bytes = Buffer.from(body);
      if (countOpenings(bytes, maxAlertOpenings) > maxAlertOpenings)
        return done(
          new TooManyAlertsError(413, "the request has too many objects and lists"),
          undefined,
        );
      try {
        done(null, bytes.length === 0 ? undefined : JSON.parse(bytes.toString("utf8")));
      } catch (thrown) {
        done(
          new PrometheusApiError("bad_data", `the body is not valid JSON: ${formatError(thrown)}`),
        );
      }
    });
    api.setErrorHandler(async (thrown, _request, reply) => {
      if (thrown instanceof TooManyAlertsError && thrown.retryAfterSeconds !== undefined)
        reply.header("retry-after", thrown.retryAfterSeconds);
      if (thrown instanceof PrometheusApiError)
        return reply.code(thrown.status).type("application/json").send(thrown.body);
      throw thrown;
    });
    api.get("/api/events", async (request, reply) => list(context, request, reply));
    api.post("/api/events", async (request, reply) => add(context, request, reply));
    api.post("/alert", { bodyLimit: alertBodyBytes }, async (request, reply) =>
      handleWebhook(context, quota, request, reply),
    );
  });
  addRunbook(app);
}

/** The request exceeds the alert quota: 413 if it is too large, 429 if it is too early. */
class TooManyAlertsError extends PrometheusApiError {
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, sentence: string, retryAfterSeconds?: number) {
    super(status === 413 ? "bad_data" : "unavailable", sentence, status);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

async function list(
  { store: book, nowMs }: EventRoutesContext,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const params = Params.of(request);
  const limit = params.limit() || usualLimit;
  const { events, cut } = book.list({
    fromMs: params.timeMs("start", fullTimeRange.minTimeMs),
    toMs: params.timeMs("end", Math.max(nowMs(), 0) + 86_400_000),
    kinds: kindsOf(params),
    matchers: params.all("match[]").map((text) => parseSelectorParam("match[]", text)),
    limit: Math.min(limit, mostEvents),
  });
  return noStore(reply).send({
    status: "success",
    data: { events: events.map(eventJson), truncated: cut },
  });
}

function kindsOf(params: Params): EventKind[] {
  return params
    .all("kind")
    .flatMap((text) => text.split(","))
    .map((text) => {
      const kind = eventKinds.find((known) => known === text.trim());
      if (kind === undefined)
        throw invalidParameter("kind", `"${text}" must be one of ${eventKinds.join(", ")}`);
      return kind;
    });
}

const time = () =>
  v.pipe(
    v.union([v.string(), v.number()], "a time"),
    v.transform((given) => parseTimeMs(String(given)) ?? Number.NaN),
    v.check((ms) => !Number.isNaN(ms), "a time: RFC 3339, or Unix seconds"),
  );

const newEvent = v.strictObject({
  time: v.optional(time()),
  end: v.optional(time()),
  kind: v.optional(v.picklist(eventKinds, `one of ${eventKinds.join(", ")}`), "annotation"),
  state: v.optional(v.pipe(v.string("text"), v.maxLength(40, "text of 40 letters at most"))),
  title: v.pipe(
    v.string("text"),
    v.trim(),
    v.minLength(1, "text"),
    v.maxLength(300, "text of 300 letters at most"),
  ),
  text: v.optional(v.pipe(v.string("text"), v.maxLength(4_000, "text of 4000 letters at most"))),
  severity: v.optional(v.picklist(eventSeverities, `one of ${eventSeverities.join(", ")}`), "info"),
  labels: v.optional(v.record(v.string(), v.string("text"), "a mapping of labels"), {}),
  key: v.optional(
    v.pipe(v.string("text"), v.minLength(1, "text"), v.maxLength(200, "a shorter text")),
  ),
});

/** Adds an external event: a deployment, a maintenance, anything worth a mark on the time axis. */
async function add(
  { store: book, nowMs }: EventRoutesContext,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const checked = checkValue(newEvent, request.body ?? {});
  if (!checked.ok)
    throw new PrometheusApiError(
      "bad_data",
      checked.problems.map(({ sentence }) => sentence).join(" "),
    );
  const { time: timeMs = nowMs(), end: endMs, key, ...event } = checked.value;
  if (endMs !== undefined && endMs < timeMs)
    throw new PrometheusApiError("bad_data", '"end" must not be before "time".');
  if (timeMs < book.oldestMs)
    throw new PrometheusApiError(
      "bad_data",
      `"time" is before ${new Date(book.oldestMs).toISOString()}: older events are not stored.`,
    );
  // A prefix of its own: posted events deduplicate among themselves, and cannot replace those of alerts.
  const added = book.add({
    ...event,
    timeMs,
    endMs,
    key: key === undefined ? undefined : `posted:${key}`,
  });
  if (added === undefined)
    return reply.code(200).send({ status: "success", data: { duplicate: true } });
  return reply.code(201).send({ status: "success", data: { event: eventJson(added) } });
}

/** Alertmanager's webhook. Each alert becomes an event, and may trigger the actions of `hub.on_alert`. */
async function handleWebhook(
  { store: book, actions, nowMs }: EventRoutesContext,
  quota: AlertQuota,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  // Actions start programs, so they require an authenticated caller, also on loopback.
  if (actions.any && (request.access === null || request.access.by === "nobody"))
    return reply.code(401).header("www-authenticate", "Bearer").send({
      error:
        "This hub runs actions on alerts (hub.on_alert), so alerts need authentication: send a token of scope push as Authorization: Bearer TOKEN (gpulse token add NAME --scope push).",
    });
  const read = readPayload(request.body);
  if (!read.ok) return reply.code(400).send({ error: read.sentence });
  const client = clientOf(request);
  const over = quota.refusal(client, read.alerts.length, nowMs());
  if (over !== undefined)
    throw new TooManyAlertsError(over.status, over.sentence, over.retryAfterSeconds);
  let [recorded, started] = [0, 0];
  await processAlertsFairly(read.alerts, client, (some) => {
    for (const alert of some) {
      if (book.add(alertEvent(alert)) !== undefined) recorded++;
      started += actions.take(alert);
    }
  });
  return reply.send({ received: read.alerts.length, recorded, started });
}

export function eventJson(event: TimelineEvent): Readonly<Record<string, unknown>> {
  const { id, timeMs, endMs, kind, state, severity, title, text, labels } = event;
  return {
    id,
    time: new Date(timeMs).toISOString(),
    ...(endMs === undefined ? {} : { end: new Date(endMs).toISOString() }),
    kind,
    ...(state === undefined ? {} : { state }),
    severity,
    title,
    ...(text === undefined ? {} : { text }),
    labels,
  };
}

/**
 * Target of the links in notifications: browsers are redirected to the runbook page, other clients get the section as plain
 * text. The page reads every section from `/api/runbook`.
 */
function addRunbook(app: FastifyInstance): void {
  const plain = "text/plain; charset=utf-8";
  const isBrowser = ({ headers }: FastifyRequest): boolean =>
    headers.accept?.includes("text/html") === true;
  app.get("/api/runbook", async (_request, reply) =>
    noStore(reply).send({ chapters: runbookChapters() }),
  );
  app.get("/runbook", async (request, reply) => {
    if (isBrowser(request)) return reply.redirect("runbooks", 302);
    const names = runbookSections().map(({ alert }) => `/runbook/${alert.toLowerCase()}`);
    return reply.type(plain).send(`${names.join("\n")}\n`);
  });
  app.get<{ Params: { alert: string } }>("/runbook/:alert", async (request, reply) => {
    const name = request.params.alert.toLowerCase();
    const sections = runbookChapters().flatMap((chapter) => chapter.sections);
    const section = sections.find(({ alert }) => alert.toLowerCase() === name);
    if (section === undefined)
      return reply.code(404).send({ error: "The runbook has no such alert: /runbook lists them." });
    if (isBrowser(request))
      return reply.redirect(`../runbooks?alert=${section.alert.toLowerCase()}`, 302);
    return reply.type(plain).send(`${section.text}\n`);
  });
}
