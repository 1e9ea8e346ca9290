/** A request's reservation in the memory budget that queries share: it counts against the client and ends with the response. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Reservation } from "../../query/memory.ts";
import { clientOf } from "../limits/client.ts";
import type { ApiContext } from "./context.ts";

/** Evaluation takes two minutes at most. The limit frees the memory held for a client that reads slower than this. */
const longestMs = 5 * 60_000;

export function reserveFor(
  { queryMemory, log }: Pick<ApiContext, "queryMemory" | "log">,
  request: FastifyRequest,
  reply: FastifyReply,
): Reservation | undefined {
  if (queryMemory === undefined) return undefined;
  const reservation = queryMemory.open(clientOf(request).principal);
  const timer = setTimeout(() => {
    log.warn("client reads a response too slowly: connection closed", {
      address: request.ip,
      route: request.routeOptions.url,
      reservedBytes: reservation.bytes,
    });
    reply.raw.destroy();
  }, longestMs);
  timer.unref();
  // `close` fires after the last byte, and after a client disconnects.
  reply.raw.once("close", () => {
    clearTimeout(timer);
    reservation.close();
  });
  return reservation;
}
