/** Responses shared by all routes. */
import type { FastifyReply } from "fastify";
import { GpulseError } from "../base/error.ts";

export const noStore = (reply: FastifyReply): FastifyReply =>
  reply.header("cache-control", "no-store");

export const sendError = (reply: FastifyReply, status: number, error: string): FastifyReply =>
  noStore(reply.code(status)).send({ error });

/** Sends the message of a GpulseError; rethrows anything else. */
export function sendThrownError(
  reply: FastifyReply,
  status: number,
  thrown: unknown,
): FastifyReply {
  if (!(thrown instanceof GpulseError)) throw thrown;
  return sendError(reply, status, thrown.message);
}
