/** The envelope of the Prometheus API around data that is JSON already. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { notes } from "../../query/response.ts";
import { noStore } from "../reply.ts";
import { Params } from "./params.ts";

export interface ResponseAnnotations {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** `{"status":"success","data":…}` around what is already JSON. */
export function success(
  data: string,
  { warnings, infos }: ResponseAnnotations = { warnings: [], infos: [] },
): string {
  return `{"status":"success","data":${data}${notes(warnings, infos)}}`;
}

export const sendSuccess = (reply: FastifyReply, data: unknown): FastifyReply =>
  noStore(reply.type("application/json")).send(success(JSON.stringify(data)));

/** A GET route that answers with data in Prometheus's envelope. */
export function addDataRoute(
  app: FastifyInstance,
  url: string,
  data: (params: Params) => unknown,
): void {
  app.get(url, async (request, reply) => sendSuccess(reply, data(Params.of(request))));
}
