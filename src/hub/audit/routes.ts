/**
 * Records in the audit log who changed what, after the response, and serves the log to administrators at `/api/audit`. Entries
 * name the changed object, never its values.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AuditLog, AuditNote } from "../../access/audit.ts";
import { networkOf } from "../../access/failures.ts";
import type { Scope } from "../../access/scope.ts";
import { type HubAccess, wasForwarded } from "../auth/authenticator.ts";
import { isAudited } from "./audited.ts";
import { noStore } from "../reply.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Overrides that a route sets for its own entry: the user who tried to log in, the object that was created. */
    audited:
      | (Partial<Pick<AuditNote, "who" | "by" | "target" | "why">> & {
          /** Scope of the user who has just logged in. */
          readonly scope?: Scope;
        })
      | null;
  }
}

export interface AuditRoutesOptions {
  readonly audit: AuditLog;
  readonly nowMs: () => number;
  /** Absent on a hub without access control. */
  readonly access?: Pick<HubAccess, "openReads">;
}

const usualCount = 100;
const mostEntries = 1_000;
/** Entries per minute of one caller without administrator rights, and of the refused requests of one address. */
const notedPerMinute = 20;
const maxSources = 10_000;

export function addAudit(app: FastifyInstance, options: AuditRoutesOptions): void {
  const { audit, nowMs } = options;
  const unprivileged = new MinuteCounts();
  app.decorateRequest("audited", null);
  app.addHook("onResponse", (request, reply, done) => {
    const pattern = request.routeOptions.url;
    if (!isAudited(request.method, pattern, reply.statusCode)) return done();
    const note = noteOf(request, reply, pattern);
    const privileged = note.outcome === "done" && isAdmin(request);
    const source =
      note.outcome === "refused" || note.by === "nobody"
        ? networkOf(request.ip)
        : `${note.by} ${note.who}`;
    const held = privileged ? 0 : unprivileged.add(`${note.outcome} ${source}`, nowMs());
    if (held > notedPerMinute) return done();
    audit.note(
      {
        ...note,
        ...(held === notedPerMinute ? { why: "more in this minute are not recorded" } : {}),
      },
      { privileged },
    );
    done();
  });
  app.get<{ Querystring: { limit?: string; before?: string } }>(
    "/api/audit",
    async (request, reply) => {
      noStore(reply);
      if (isStranger(request, options.access))
        return reply.code(403).send({
          error:
            "The audit log needs authentication: log in with an admin token, or run gpulse audit on the hub's machine.",
        });
      const limit = request.query.limit === undefined ? usualCount : Number(request.query.limit);
      if (!Number.isInteger(limit) || limit < 1 || limit > mostEntries)
        return reply
          .code(400)
          .send({ error: `limit must be a whole number from 1 to ${mostEntries}.` });
      const { before } = request.query;
      const beforeMs = before === undefined ? undefined : Date.parse(before);
      if (Number.isNaN(beforeMs))
        return reply
          .code(400)
          .send({ error: "before must be a time such as 2026-01-02T03:04:05Z." });
      return reply.send({ entries: audit.tail(limit, beforeMs) });
    },
  );
}

function noteOf(
  request: FastifyRequest,
  { statusCode }: FastifyReply,
  pattern: string | undefined,
): AuditNote {
  const { access, audited } = request;
  const why = audited?.why;
  const target = audited?.target ?? targetOf(request);
  return {
    who: audited?.who ?? nameOf(request),
    by: audited?.by ?? access?.by ?? "nobody",
    address: request.ip,
    what: `${request.method} ${pattern ?? "(no such route)"}`,
    ...(target === undefined ? {} : { target }),
    outcome: statusCode < 400 ? "done" : "refused",
    status: statusCode,
    ...(why === undefined ? {} : { why }),
  };
}

const isAdmin = ({
  access,
  audited,
}: Partial<Pick<FastifyRequest, "access" | "audited">>): boolean =>
  audited?.scope === "admin" || (access?.by !== "nobody" && access?.scope === "admin");

/** `access` is undefined on a hub without access control. */
const nameOf = (request: Partial<Pick<FastifyRequest, "access">>): string =>
  request.access !== undefined && request.access !== null && "name" in request.access
    ? request.access.name
    : "nobody";

/** The target of the change: the names in the path, the one in the body, or the selectors in the query. */
function targetOf({ params, body, query }: FastifyRequest): string | undefined {
  const names = Object.values(recordOf(params)).filter((value) => typeof value === "string");
  if (names.length > 0) return names.join(" ");
  const given = recordOf(body);
  for (const key of ["name", "receiver", "id"])
    if (typeof given[key] === "string" && given[key] !== "") return given[key];
  const match = recordOf(query)["match[]"];
  return match === undefined ? undefined : JSON.stringify(match);
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

/** True for a caller without credentials that may be anyone on the network. */
function isStranger(
  { access: who, headers }: FastifyRequest,
  access: AuditRoutesOptions["access"],
): boolean {
  if (access === undefined) return false;
  return who === null || (who.by === "nobody" && (!access.openReads || wasForwarded(headers)));
}

/** Counts entries by source and minute, so that a flood from one source does not evict the others. */
class MinuteCounts {
  #minute = 0;
  readonly #counts = new Map<string, number>();

  /** Returns the number of entries of this source within the minute, including this one. */
  add(source: string, nowMs: number): number {
    const minute = Math.floor(nowMs / 60_000);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const count = (this.#counts.get(source) ?? 0) + 1;
    if (count === 1 && this.#counts.size >= maxSources) return Number.POSITIVE_INFINITY;
    this.#counts.set(source, count);
    return count;
  }
}
