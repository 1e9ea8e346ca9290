// Fuzzes the running programs over HTTP and checks their contract: a response in time, never an internal error, and still alive
// afterwards.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { ensureBuild } from "../../../engines/program.ts";
import { seededRandom } from "../mutate.ts";
import type { Row } from "../table.ts";
import { makeRequest } from "./make.ts";
import { type MadeRequest, type RawHttpResponse, send } from "./request.ts";
import { type FuzzedServer, startServers } from "./servers.ts";

const usual = 110_000;
const atATime = 8;
/** Far beyond any response time: only a request that is never answered counts as a hang. */
const answerWithinMs = 60_000;
/** Statuses of documented conditions, with an error message: not implemented, not ready, disk full. */
const documented = new Set([501, 503, 507]);
const growthBytes = 256 * 1024 * 1024;
const mostFindings = 30;

export interface FuzzResult {
  readonly requests: number;
  readonly crashes: readonly string[];
  readonly hangs: readonly string[];
  readonly statuses: ReadonlyMap<number, number>;
  readonly peakBytes: number;
  readonly grows: boolean;
}

/** The problem of a response; undefined if there is none. */
export function complaintOf(made: MadeRequest, answer: RawHttpResponse): string | undefined {
  const { status, body } = answer;
  // Responses identical to those of Alertmanager 0.25 for an unknown silence, which its clients expect.
  if (/ \/api\/v2\/silence\//.test(made.shown) && (status === 404 || body.includes("silence")))
    return undefined;
  if (status === 0) return made.isBroken ? undefined : "the connection ended without an answer";
  if (status >= 500 && !documented.has(status)) {
    // Prometheus returns this if a configuration cannot be reloaded; 505 is Node's response to an unsupported HTTP version.
    if (body.includes("failed to reload config: ") || (made.isBroken && status === 505)) return;
    return `HTTP ${status}: ${body.slice(0, 300)}`;
  }
  // Node responds to an unknown Expect header by itself, without a body.
  if (status === 417) return undefined;
  if (status >= 400 && !made.isHead && !made.isBroken && !/[a-z]{2}/i.test(body))
    return `HTTP ${status} without a sentence`;
  return undefined;
}

export async function fuzzServer(
  server: FuzzedServer,
  count: number,
  seed: number,
): Promise<FuzzResult> {
  const random = seededRandom(seed);
  const [crashes, hangs]: [string[], string[]] = [[], []];
  const statuses = new Map<number, number>();
  const reported = new Set<string>();
  let [sent, peakBytes, levelBytes] = [0, 0, 0];
  const one = async (at: number): Promise<void> => {
    // Every route in turn, so that each gets its share of requests.
    const route = server.routes[at % server.routes.length];
    if (route === undefined) throw new Error(`BUG: ${server.name} has no routes`);
    const made = makeRequest(route, server.token, random);
    const tell = (into: string[], says: string): void => {
      // One finding per route and message is enough.
      const key = `${route.method} ${route.url} ${says.replace(/\d+/g, "").slice(0, 60)}`;
      if (reported.has(key)) return;
      reported.add(key);
      const bytes = made.bytes.subarray(0, 1_500).toString("base64url");
      into.push(`${made.shown} (${made.bytes.length} bytes): ${says}\n${bytes}`);
    };
    try {
      const answer = await send(server.port, made, answerWithinMs);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      const complaint = complaintOf(made, answer);
      if (complaint !== undefined) tell(crashes, complaint);
    } catch (thrown) {
      tell(hangs, thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  const loop = async (): Promise<void> => {
    while (sent < count && crashes.length + hangs.length < mostFindings) {
      if (server.process.exited() !== undefined) return;
      if (sent % 500 === 0) peakBytes = Math.max(peakBytes, residentBytes(server.process.pid));
      if (sent === Math.floor(count / 2)) levelBytes = residentBytes(server.process.pid);
      await one(sent++);
    }
  };
  await Promise.all(Array.from({ length: atATime }, loop));
  const end = server.process.exited();
  if (end !== undefined)
    crashes.push(
      `it ended with ${end.signal ?? end.code}: ${server.process.output().slice(-2_000)}`,
    );
  else {
    const healthy = await fetch(`http://127.0.0.1:${server.port}${server.health}`);
    if (!healthy.ok) crashes.push(`${server.health} answers ${healthy.status}`);
    const said = /^.*(unhandled|BUG:|request failed|heap out of memory).*$/im.exec(
      server.process.output(),
    )?.[0];
    if (said !== undefined) crashes.push(`its log says: ${said.slice(0, 500)}`);
  }
  const grows = levelBytes > 0 && !(await settles(server, levelBytes + growthBytes));
  return { requests: sent, crashes, hangs, statuses, peakBytes, grows };
}

/** The garbage collector frees memory at its own pace: waits for a while before growth counts as a leak. */
async function settles(server: FuzzedServer, belowBytes: number): Promise<boolean> {
  for (let look = 0; look < 60; look++) {
    if (residentBytes(server.process.pid) < belowBytes) return true;
    await sleep(500);
  }
  return false;
}

/** 0 if the system does not report it. */
function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4_096;
  } catch {
    return 0;
  }
}

/** Fuzzes the three programs one after the other; most requests go to the hub, which has the most routes. */
export async function fuzzHttp(inputs: string | undefined, seed: number): Promise<Row[]> {
  await ensureBuild();
  const servers = await startServers();
  const count = inputs === undefined ? usual : Number(inputs);
  const rows: Row[] = [];
  try {
    for (const [server, share] of [
      [servers.hub, 0.9],
      [servers.agent, 0.06],
      [servers.pipe, 0.04],
    ] as const) {
      const startMs = performance.now();
      const done = await fuzzServer(server, Math.ceil(count * share), seed);
      for (const says of [...done.crashes, ...done.hangs])
        process.stderr.write(`✗ ${server.name}: ${says}\n\n`);
      const reported = [...done.statuses].sort(([left], [right]) => left - right);
      process.stderr.write(
        `… ${server.name}: ${reported.map(([status, times]) => `${status}×${times}`).join(" ")}\n`,
      );
      rows.push({
        target: server.name,
        inputs: done.requests,
        reached: undefined,
        newlyReached: undefined,
        crashes: done.crashes.length,
        hangs: done.hangs.length,
        peakHeapBytes: done.peakBytes,
        grows: done.grows,
        seconds: (performance.now() - startMs) / 1_000,
      });
    }
  } finally {
    await servers.stop();
  }
  return rows;
}
