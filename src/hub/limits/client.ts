/** Whom a request is charged to when the hub divides what it has between its clients. */
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
