/**
 * The client that a request counts against. The hub limits its load in these places, all of them per client:
 * - connections.ts: open connections, in total and per address; beyond that they are closed.
 * - rate.ts: queries, heavy requests and alerts per second; 429.
 * - ../receive/admission.ts (`IngestAdmission`): bytes and requests of ingestion in progress; 429 if the client exceeds its
 *   share, 503 if others hold it all.
 * - src/query/admission.ts (`QueryAdmission`): running queries and their memory; 429 or 503 alike.
 * - alert-quota.ts: alerts per request and active at once; 413, 429.
 * - responses.ts: bytes of responses waiting for slow readers; 503.
 * memory.ts derives the sizes from the memory limit, `base/fair` divides them, overload.ts (`OverloadMonitor`) counts and
 * reports what was refused.
 */
import type { FastifyRequest } from "fastify";
import { networkOf } from "../../access/failures.ts";
import { anonymousClient, type ClientKey } from "../../base/fair/client-key.ts";

/** The token, user or shared link, then the address; the address alone for a caller without a credential. */
export function clientOf({
  access,
  ip,
}: Partial<Pick<FastifyRequest, "access">> & { readonly ip: string }): ClientKey {
  const address = networkOf(ip);
  if (access === undefined || access === null || access.by === "nobody")
    return anonymousClient(address);
  const { kind, id } = access.holder;
  return { principal: `${kind} ${id}`, address };
}
