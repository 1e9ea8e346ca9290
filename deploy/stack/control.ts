// The control server of a running stack, on loopback: only users who can read its state file have the token.

import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

import type { StackState } from "./place.ts";
import type { Row } from "./table.ts";

export interface Actions {
  rows(): readonly Row[];
  hold(name: string): Promise<void>;
  release(name: string): void;
  /** Rewrites the rules with other waiting times, and reloads Prometheus, Alertmanager and the hub. */
  setQuick(quick: boolean): Promise<void>;
}

export interface Control {
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

export async function openControl(actions: Actions): Promise<Control> {
  const token = randomBytes(24).toString("base64url");
  const server = createServer((request, response) => {
    const answer = isAllowed(request, token)
      ? act(actions, request)
      : Promise.reject(new Error("the token of state.json is missing"));
    answer
      .then(
        (body) => [200, body] as const,
        (error: unknown) =>
          [400, { error: error instanceof Error ? error.message : String(error) }] as const,
      )
      .then(([status, body]) =>
        response
          .writeHead(status, { "content-type": "application/json" })
          .end(JSON.stringify(body)),
      )
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function act(actions: Actions, request: IncomingMessage): Promise<unknown> {
  const [, what = "", name = ""] = (request.url ?? "/").split("/");
  if (request.method === "GET" && what === "services") return actions.rows();
  if (request.method !== "POST") throw new Error(`there is no ${request.method} ${request.url}`);
  if (what === "hold") await actions.hold(name);
  else if (what === "release") actions.release(name);
  else if (what === "rules") await actions.setQuick(name === "quick");
  else throw new Error(`there is no ${request.url}`);
  return { ok: true };
}

function isAllowed(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** The same actions, from another process. */
export function remoteControl(state: StackState): Omit<Actions, "rows" | "release"> & {
  rows(): Promise<readonly Row[]>;
  release(name: string): Promise<void>;
} {
  const call = async (method: string, route: string): Promise<unknown> => {
    const response = await fetch(`${state.control.url}${route}`, {
      method,
      headers: { authorization: `Bearer ${state.control.token}` },
    });
    const body: unknown = await response.json();
    if (!response.ok) throw new Error(`the stack answered: ${JSON.stringify(body)}`);
    return body;
  };
  return {
    rows: async () => (await call("GET", "/services")) as readonly Row[],
    hold: async (name) => void (await call("POST", `/hold/${name}`)),
    release: async (name) => void (await call("POST", `/release/${name}`)),
    setQuick: async (quick) => void (await call("POST", `/rules/${quick ? "quick" : "shipped"}`)),
  };
}
