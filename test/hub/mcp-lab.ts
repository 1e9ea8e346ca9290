// MCP clients of the SDK against a built hub with simulated GPUs, and helpers for the tests of its tools.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

/** Protocol versions of a client: that of 2025 with its handshake, or that of 2026-07-28 without sessions. */
const eras = {
  "2025": { mode: "legacy" },
  "2026": { mode: { pin: "2026-07-28" } },
} as const;
export type Era = keyof typeof eras;

export interface McpHub {
  readonly url: string;
  readonly dataDir: string;
  stop(): Promise<void>;
}

/** @param command `up` with its own simulated GPUs, or `hub` */
export async function startMcpHub(command: "up" | "hub", args: readonly string[]): Promise<McpHub> {
  await ensureBuild();
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-mcp-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const hub = startProcess(
    process.execPath,
    [
      hubProgram,
      command,
      `--port=${port}`,
      `--data=${folder}`,
      "--log-level=error",
      ...(command === "up" ? ["--no-open"] : []),
      ...args,
    ],
    { name: `gpulse ${command}` },
  );
  const stop = async (): Promise<void> => {
    await hub.stop(20_000);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await hub.waitForUrl(`${url}/-/ready`, 60_000);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return { url, dataDir: folder, stop };
}

const sockets = new http.Agent({ keepAlive: true, maxSockets: 64 });

/** Shares 64 connections, and retries when the hub asks for it. */
const fetchPatiently = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
  const headers = Object.fromEntries(new Headers(init.headers));
  const { method = "GET", body } = init;
  const sent = http.request(url, { method, headers, agent: sockets });
  sent.end(typeof body === "string" ? body : undefined);
  const [reply] = (await once(sent, "response")) as [http.IncomingMessage];
  const text = await reply.toArray();
  const status = reply.statusCode ?? 0;
  if (status === 503 && reply.headers["retry-after"] !== undefined) {
    await setTimeout(Number(reply.headers["retry-after"]) * 1_000);
    return fetchPatiently(url, init);
  }
  const type = reply.headers["content-type"];
  return new Response(status === 202 ? null : Buffer.concat(text as Buffer[]), {
    status,
    headers: type === undefined ? {} : { "content-type": type },
  });
};

/** A request may queue for minutes for one of the client's connections, a thousand at once on a busy machine. */
const patience = { timeout: 300_000 };

export async function connectHttp(url: string, era: Era = "2026", token?: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: eras[era] });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers },
      fetch: fetchPatiently,
    }),
    patience,
  );
  return client;
}

export async function connectStdio(url: string, era: Era = "2026"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: eras[era] });
  const args = [hubProgram, "mcp", "--url", url];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }),
  );
  return client;
}

export interface CalledTool {
  readonly text: string;
  readonly isError: boolean;
}

export async function callTool(
  client: Client,
  name: string,
  input: Readonly<Record<string, unknown>> = {},
): Promise<CalledTool> {
  const { content, isError } = await client.callTool({ name, arguments: { ...input } }, patience);
  const [first] = content;
  if (content.length !== 1 || first?.type !== "text")
    throw new Error(`${name} answered something else than one text`);
  return { text: first.text, isError: isError === true };
}

/** The rows of a response's table, as cells. */
export function tableOf(text: string): string[][] {
  const [, table = ""] = text.split("\n\n");
  return table.split("\n").map((line) => line.split(" | "));
}

/**
 * An upper bound of a model's token count: up to four letters or three digits are one token, and so is every other character
 * and every run of blanks. Words usually take fewer.
 */
export const countTokens = (text: string): number =>
  text.match(/\p{L}{1,4}|\p{N}{1,3}|\s+|[^\p{L}\p{N}\s]/gu)?.length ?? 0;

/** Waits for the first job and returns its id: owners are read every few seconds, and then booked in the ledger. */
export async function firstJob(url: string): Promise<string> {
  return waitUntil({ what: "a job", timeoutMs: 60_000 }, async () => {
    const reply = await fetch(`${url}/api/jobs`);
    const { jobs } = (await reply.json()) as { jobs: { id: string }[] };
    return jobs[0]?.id;
  });
}

/** Waits until a query returns a result. */
export async function waitForSeries(url: string, promql: string): Promise<void> {
  await waitUntil({ what: promql, timeoutMs: 60_000 }, async () => {
    const reply = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(promql)}`);
    const { data } = (await reply.json()) as { data?: { result: readonly unknown[] } };
    return (data?.result.length ?? 0) > 0 ? true : undefined;
  });
}
