/** Listens on an address and explains the system's errors in a sentence. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { GpulseError, systemCode } from "../../base/error.ts";

export interface ListenAddress {
  readonly port: number;
  /** A URL that a user on this machine can open. */
  readonly url: string;
}

export async function listen(server: Server, host: string, port: number): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(listenError(error, host, port)));
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return { port: bound, url: localUrl(host, bound, isSecure(server)) };
}

function listenError(error: Error, host: string, port: number): Error {
  const code = systemCode(error);
  if (code === "EADDRINUSE") {
    return new GpulseError(
      "PORT_IN_USE",
      `Port ${port} on ${host} is in use by another program: stop it, or choose another port with --port.`,
    );
  }
  if (code === "EACCES")
    return new GpulseError(
      "PORT_DENIED",
      `This user may not listen on port ${port} of ${host}: choose one above 1023 with --port.`,
    );
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new GpulseError(
      "PORT_DENIED",
      `This machine does not have the address ${host}: pass one of its addresses with --host, or 127.0.0.1.`,
    );
  }
  return error;
}

/** Checks for a method that only a TLS server has, so that the check does not load TLS. */
export const isSecure = (server: object): boolean => "setSecureContext" in server;

export function localUrl(host: string, port: number, secure: boolean): string {
  const name =
    host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `${secure ? "https" : "http"}://${name}:${port}`;
}
