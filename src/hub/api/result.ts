/** The envelope of the Prometheus API. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { notes } from "../../query/response.ts";
import { noStore } from "../reply.ts";
import { Params } from "./params.ts";

export interface ResponseAnnotations {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** Wraps data that is already JSON: `{"status":"success","data":…}`. */
export function success(
  data: string,
  { warnings, infos }: ResponseAnnotations = { warnings: [], infos: [] },
): string {
  return `{"status":"success","data":${data}${notes(warnings, infos)}}`;
}

const sendSuccess = (reply: FastifyReply, data: unknown): FastifyReply =>
  noStore(reply.type("application/json")).send(success(JSON.stringify(data)));

/** Registers a GET route that returns data in Prometheus's envelope. */
export function addDataRoute(
  app: FastifyInstance,
  url: string,
  data: (params: Params) => unknown,
): void {
  app.get(url, async (request, reply) => sendSuccess(reply, data(Params.of(request))));
}
