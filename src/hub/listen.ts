/** Opens the port, and says in one sentence what to do where it cannot. */
import type { FastifyInstance } from "fastify";
import { GpulseError, systemCode } from "../errors/error.ts";

/** The URL a person on this machine opens. Port 0 takes a free one. */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (thrown) {
    throw explain(thrown, host, port);
  }
  const address = app.server.address();
  const opened = typeof address === "object" && address !== null ? address.port : port;
  return `http://${nameInUrl(host)}:${opened}/`;
}

function explain(thrown: unknown, host: string, port: number): unknown {
  switch (systemCode(thrown)) {
    case "EADDRINUSE":
      return new GpulseError(
        "PORT_IN_USE",
        `Port ${port} on ${host} is taken by another program: stop it, or choose another port with --port.`,
        { cause: thrown },
      );
    case "EACCES":
      return new GpulseError(
        "PORT_DENIED",
        `This user may not listen on port ${port}: choose a port above 1023 with --port.`,
        { cause: thrown },
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new GpulseError(
        "PORT_DENIED",
        `This machine has no address ${host} to listen on: choose another with --host.`,
        { cause: thrown },
      );
    case undefined:
    default:
      return thrown;
  }
}

function nameInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
