// Checks whether a service responds: a page over HTTP, or an open port. A timeout counts as unhealthy.

import { connect } from "node:net";

import type { HealthCheck } from "./service.ts";

const TIMEOUT_MS = 3_000;

/** Undefined if it responds; otherwise the reason. */
export async function whyUnhealthy(check: HealthCheck): Promise<string | undefined> {
  return check.kind === "http" ? whyNoPage(check.url) : whyNoPort(check.port);
}

async function whyNoPage(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok ? undefined : `${new URL(url).pathname} answers ${response.status}`;
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError"
      ? `no answer within ${TIMEOUT_MS / 1000} s`
      : "does not answer";
  }
}

async function whyNoPort(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: TIMEOUT_MS });
    const settle = (reason: string | undefined): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.once("connect", () => settle(undefined));
    socket.once("timeout", () => settle(`no connection within ${TIMEOUT_MS / 1000} s`));
    socket.once("error", () => settle("refuses connections"));
  });
}
