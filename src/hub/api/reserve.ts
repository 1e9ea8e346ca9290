/** A request's part of the memory that queries share: it counts for the client, and ends with the response. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Reservation } from "../../query/memory.ts";
import { clientOf } from "../limits/client.ts";
import type { ApiContext } from "./context.ts";

export function reserveFor(
  { queryMemory }: Pick<ApiContext, "queryMemory">,
  request: FastifyRequest,
  reply: FastifyReply,
): Reservation | undefined {
  const reservation = queryMemory?.open(clientOf(request).principal);
  // `close` comes after the last byte, and after a client that hung up.
  reply.raw.once("close", () => reservation?.close());
  return reservation;
}
