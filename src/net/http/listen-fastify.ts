/** Opens the hub's port, with the same errors as the agent. */
import type { FastifyInstance } from "fastify";
import { isSecure, listenError, localUrl } from "./listen.ts";

/** The URL a person on this machine opens. Port 0 takes a free one. */
export async function listenFastify(
  app: FastifyInstance,
  host: string,
  port: number,
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (thrown) {
    throw thrown instanceof Error ? listenError(thrown, host, port) : thrown;
  }
  const address = app.server.address();
  const opened = typeof address === "object" && address !== null ? address.port : port;
  return `${localUrl(host, opened, isSecure(app.server))}/`;
}
