/** Responses that every route sends alike. */
import type { FastifyReply } from "fastify";
import { GpulseError } from "../base/error.ts";

export const noStore = (reply: FastifyReply): FastifyReply =>
  reply.header("cache-control", "no-store");

export const sendError = (reply: FastifyReply, status: number, error: string): FastifyReply =>
  noStore(reply.code(status)).send({ error });

/** Answers with the sentence of a GpulseError; rethrows anything else. */
export function sendThrownError(
  reply: FastifyReply,
  status: number,
  thrown: unknown,
): FastifyReply {
  if (!(thrown instanceof GpulseError)) throw thrown;
  return sendError(reply, status, thrown.message);
}
