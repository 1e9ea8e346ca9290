// Hubs and agents that push to them, started from their bundles: each can be killed at any moment and restarted with the same
// folders.

import { fileURLToPath } from "node:url";

import { HttpAgent, request } from "../src/net/http/request.ts";
import { hubProgram } from "./hub.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, runProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

const agentProgram = fileURLToPath(new URL("../dist/agent/main.js", import.meta.url));

export interface HubLocation {
  readonly dataDir: string;
  readonly port: number;
  /** The files of its certificate and the text of its CA; plain HTTP if absent. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly args?: readonly string[];
}

export const hubUrl = ({ port, tls }: HubLocation): string =>
  `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;

export interface QueriedSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** Sends a request to a hub and returns the response, whatever its status. */
export async function askHub(
  place: HubLocation,
  route: string,
  options: {
    readonly token?: string;
    readonly method?: "GET" | "POST" | "DELETE";
    readonly body?: Buffer;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<{ readonly status: number; readonly body: string }> {
  const agent = new HttpAgent(place.tls === undefined ? {} : { ca: place.tls.ca });
  try {
    const { status, body } = await request(hubUrl(place) + route, {
      method: options.method ?? "GET",
      headers: {
        ...options.headers,
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      },
      ...(options.body === undefined ? {} : { body: options.body }),
      agent,
      timeoutMs: 30_000,
      maxBytes: 200_000_000,
    });
    return { status, body: body.toString("utf8") };
  } finally {
    agent.close();
  }
}

export async function queryHub(
  place: HubLocation,
  query: string,
  timeMs = Date.now(),
): Promise<readonly QueriedSeries[]> {
  const route = `/api/v1/query?time=${timeMs / 1_000}&query=${encodeURIComponent(query)}`;
  const { body } = await askHub(place, route);
  const said = JSON.parse(body) as { status: string; data: { result: readonly QueriedSeries[] } };
  if (said.status !== "success") throw new Error(`${query}: ${body}`);
  return said.data.result;
}

export interface AgentStatus {
  readonly id: string;
  readonly state: string;
  readonly lagSeconds?: number;
  readonly sequence: number;
  readonly clockDifferenceSeconds?: number;
  readonly spool?: { readonly records: number; readonly lostRecords: number };
}

export async function agentsOf(place: HubLocation): Promise<readonly AgentStatus[]> {
  const { body } = await askHub(place, "/api/agents");
  return (JSON.parse(body) as { agents: readonly AgentStatus[] }).agents;
}

export interface Killable {
  readonly process: RunningProcess;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

const killable = (running: RunningProcess): Killable => ({
  process: running,
  kill: async () => {
    if (running.exited() === undefined) process.kill(running.pid, "SIGKILL");
    await running.waitForExit();
  },
  stop: async () => void (await running.stop(20_000)),
});

export async function startPushHub(place: HubLocation): Promise<Killable> {
  const tls =
    place.tls === undefined ? [] : [`--tls-cert=${place.tls.cert}`, `--tls-key=${place.tls.key}`];
  const hub = startProcess(
    process.execPath,
    [
      hubProgram,
      "hub",
      "--host=127.0.0.1",
      `--port=${place.port}`,
      `--data=${place.dataDir}`,
      "--no-self-scrape",
      ...tls,
      ...(place.args ?? []),
    ],
    { name: "gpulse hub" },
  );
  const giveUp = (): string | undefined =>
    hub.exited() === undefined ? undefined : `the hub has gone:\n${hub.output()}`;
  await waitUntil({ what: "the hub to be ready", timeoutMs: 60_000, giveUp }, async () =>
    (await askHub(place, "/-/ready")).status === 200 ? true : undefined,
  );
  return killable(hub);
}

export interface PushAgentOptions {
  readonly hostName: string;
  readonly source: string;
  readonly spool: string;
  readonly port?: number;
  /** Hubs, and additional flags. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export async function startPushAgent(
  options: PushAgentOptions,
): Promise<Killable & { readonly port: number }> {
  const port = options.port ?? (await freePort());
  const agent = startProcess(
    process.execPath,
    [
      agentProgram,
      "agent",
      `--source=${options.source}`,
      `--host-name=${options.hostName}`,
      "--host=127.0.0.1",
      `--port=${port}`,
      `--spool=${options.spool}`,
      ...options.args,
    ],
    { name: `gpulse agent ${options.hostName}`, ...(options.env && { env: options.env }) },
  );
  await agent.waitForOutput(/agent is up/, 30_000);
  return { ...killable(agent), port };
}

export async function addPushToken(dataDir: string, name: string): Promise<string> {
  const done = await runProcess(
    process.execPath,
    [hubProgram, "token", "add", name, "--data", dataDir, "--json"],
    { timeoutMs: 60_000 },
  );
  if (done.code !== 0) throw new Error(`token add: ${done.stderr}`);
  return (JSON.parse(done.stdout) as { token: string }).token;
}
