/** The hub: one HTTP server with the page, the live stream and the APIs. Composition only. */
import type { RequestListener, Server } from "node:http";
import { fastify, type FastifyInstance } from "fastify";
import { formatError, systemCode } from "../base/error.ts";
import { StoreError } from "../storage/embedded/error.ts";
import { addAnalytics } from "./analytics/routes.ts";
import { addOwnRules } from "./alerts/own-rules-api.ts";
import { addApi } from "./api/api.ts";
import { addRefusalLog } from "./audit/refusal-log.ts";
import { addAudit } from "./audit/routes.ts";
import { addAuth } from "./auth/auth.ts";
import { sendNotFoundPage, serveAccessPageStyle } from "./auth/pages.ts";
import { addBoards } from "./boards/routes.ts";
import { addChanges } from "./changes/routes.ts";
import { addCompare } from "./compare/routes.ts";
import { addEvents, eventJson } from "./events/routes.ts";
import { addExplain } from "./explain/routes.ts";
import { ExplainTurns } from "./explain/turns.ts";
import { addCompression } from "./compression.ts";
import { DirectRoutes } from "./direct-routes.ts";
import { addGuards, createGuard } from "./guard.ts";
import { addHealth } from "./health/routes.ts";
import { addHeldIdle } from "./jobs/held-idle/routes.ts";
import { addJobPrivacy, addJobs } from "./jobs/routes.ts";
import { addImport } from "./receive/import.ts";
import { AlertQuota } from "./limits/alert-quota.ts";
import { addResponseLimits, responseLimits } from "./limits/responses.ts";
import { addRates } from "./limits/rate.ts";
import { createHubServer, type HubListener, openListener } from "./listener.ts";
import { LiveFeed } from "../view/live/feed.ts";
import { addMcp } from "./mcp/routes.ts";
import type { HubOptions } from "./options.ts";
import { serveDocs, servePage } from "./page.ts";
import { addPipes } from "./pipes/routes.ts";
import { addRoutes } from "./routes.ts";
import { addRuns } from "./runs/routes.ts";
import { addServing } from "./serving/routes.ts";
import { addSnapshots } from "./snapshots/routes.ts";

export type { HubOptions, MetricsPage } from "./options.ts";

export interface Hub {
  readonly url: string;
  close(): Promise<void>;
}

/** @param listener the open listener; opens its own if absent */
export async function createHub(options: HubOptions, listener?: HubListener): Promise<Hub> {
  const opened =
    listener ??
    (await openListener(
      options,
      () => options.shedding?.shed("connections"),
      () => undefined,
    ));
  let app: FastifyInstance | undefined;
  const close = async (): Promise<void> => {
    await app?.close();
    await opened.close();
  };
  try {
    let handler: RequestListener | undefined;
    app = await buildHub(options, (handle) => {
      handler = handle;
      return opened.server;
    });
    await app.ready();
    if (handler === undefined) throw new Error("BUG: fastify created no server");
    opened.serve(handler);
    return { url: opened.url, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** The Fastify application without its listener, for tests that inject requests. */
export async function buildHub(
  options: HubOptions,
  createServer: (handler: RequestListener) => Server = (handler) =>
    createHubServer(options.listener, handler),
): Promise<FastifyInstance> {
  const { host, publicUrl } = options;
  const headers = () => options.listener?.headers ?? {};
  const guard = createGuard({ host, publicUrl });
  const behindProxy = options.access?.behindProxy === true;
  const direct = new DirectRoutes({ guard, headers, behindProxy });
  const app = fastify({
    bodyLimit: 64 * 1024,
    forceCloseConnections: true,
    serverFactory: (handler) => createServer(direct.before(handler)),
    routerOptions: { maxParamLength: 200 },
    // No route has a schema, so Ajv and fast-json-stringify are not loaded.
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
    // The client's address for rate limits and the audit log: the last X-Forwarded-For entry, if the peer has a private
    // address.
    ...(behindProxy && {
      trustProxy: (address: string, hop: number) => hop === 0 && isNearby(address),
    }),
  });
  const feed = new LiveFeed({
    latest: options.latest,
    nowMs: options.nowMs,
    host: options.hostName,
    version: options.version,
    problems: () => options.ready().problems,
    maxPages: options.maxPages ?? 500,
  });
  if (options.api !== undefined)
    await feed.prime(options.api.history).catch((thrown: unknown) => {
      if (!(thrown instanceof StoreError)) throw thrown;
      options.log.warn("reading history for the page failed: its charts start empty", {
        error: thrown.message,
      });
    });
  app.addHook("preClose", async () => feed.close());
  addRefusalLog(app, options);
  addGuards(app, guard, headers);
  if (options.audit !== undefined) addAudit(app, { ...options, audit: options.audit });
  const { access } = options;
  const auth = access && (await addAuth(app, { ...options, access }));
  app.decorate("direct", direct);
  direct.serveOn(app, auth);
  const rates = addRates(app, options);
  const alertQuota = new AlertQuota(options.rates);
  const pendingBytes = options.api?.budgets?.responsesBytes ?? responseLimits.pendingBytes;
  addCompression(app);
  addResponseLimits(app, options.log, { ...responseLimits, pendingBytes });
  serveAccessPageStyle(app);
  app.setNotFoundHandler(async (request, reply) => {
    const path = pathOf(request.url);
    // Browsers that open a page send `Accept: text/html`; scripts and programs get JSON.
    if (request.method === "GET" && request.headers.accept?.includes("text/html") === true)
      return sendNotFoundPage(reply, path);
    return reply.code(404).send({
      error: `There is nothing at ${request.method} ${path}: the page is at /.`,
    });
  });
  app.setErrorHandler(async (thrown, request, reply) => {
    const status = statusOf(thrown);
    if (status < 500) return reply.code(status).send({ error: formatError(thrown) });
    options.log.error("request failed", { path: pathOf(request.url), error: formatError(thrown) });
    return reply.code(500).send({ error: "gpulse failed to handle this request: see its log." });
  });
  addRoutes(app, feed, options);
  if (options.api !== undefined) await addApi(app, options.api, alertQuota);
  addAnalytics(app, options.analytics);
  if (options.timeline !== undefined) {
    await addEvents(app, options.timeline, alertQuota);
    options.timeline.subscribe((event) =>
      feed.streams.sendEvent("event", () => JSON.stringify(eventJson(event))),
    );
  }
  if (options.health !== undefined) addHealth(app, options.health);
  if (options.jobs !== undefined) {
    addJobs(app, options.jobs, options.jobTariffs ?? {}, options.nowMs);
    addJobPrivacy(app, options.jobs);
    await addHeldIdle(app, options.heldIdle, options.nowMs);
  }
  if (options.importUpload !== undefined) await addImport(app, options.importUpload);
  if (options.snapshots !== undefined) await addSnapshots(app, options.snapshots);
  if (options.ownRules !== undefined && options.api?.alerting !== undefined)
    await addOwnRules(app, options.ownRules, options.api.alerting.sink);
  if (options.boards !== undefined) await addBoards(app, options.boards);
  if (options.runs !== undefined) await addRuns(app, options.runs);
  if (options.pipes !== undefined) await addPipes(app, options.pipes, options.access);
  if (options.api !== undefined)
    await addCompare(app, {
      history: options.api.history,
      nowMs: options.nowMs,
      version: options.version,
      ...(options.runs === undefined ? {} : { runs: options.runs }),
    });
  if (options.api !== undefined) {
    const { history, alerting } = options.api;
    const context = { history, alerting, jobs: options.jobs, nowMs: options.nowMs };
    const turns = new ExplainTurns();
    addExplain(app, context, turns);
    addChanges(app, context, turns);
  }
  if (options.api !== undefined)
    addServing(app, {
      history: options.api.history,
      nowMs: options.nowMs,
      hostName: options.hostName,
      tariffs: options.jobTariffs,
    });
  await addMcp(app, options);
  await servePage(app, {
    webDir: options.webDir,
    embedOrigins: options.embedOrigins ?? [],
    feed,
    api: options.api,
    mayQuery: (request) => rates.take("queriesPerSecond", request) === 0,
  });
  await serveDocs(app, options.docsDir);
  return app;
}

function noSchemas(): never {
  throw new Error("BUG: a route has a schema, and this application compiles none");
}

const isNearby = (address: string): boolean =>
  /^(?:::ffff:)?(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.|^::1$|^f[cd]|^fe[89ab]/i.test(
    address,
  );

const pathOf = (url: string): string => url.split("?", 1)[0]?.slice(0, 200) ?? "/";

const isAbort = (thrown: unknown): boolean =>
  thrown instanceof Error && thrown.name === "AbortError";

function statusOf(thrown: unknown): number {
  // The client disconnected while sending its body: not a failure of the hub.
  if (systemCode(thrown) === "ECONNRESET" || isAbort(thrown)) return 400;
  return thrown instanceof Error && "statusCode" in thrown && typeof thrown.statusCode === "number"
    ? thrown.statusCode
    : 500;
}
