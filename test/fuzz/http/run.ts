// Fuzzes the running programs over HTTP and holds them to their word: an answer in time, never a fault, alive afterwards.

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
/** Far beyond any answer's time: only a request that is never answered is a hang. */
const answerWithinMs = 60_000;
/** What a request may find not ready, full or not made: said so, with a sentence. */
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

/** What is wrong with an answer; undefined where nothing is. */
export function complaintOf(made: MadeRequest, answer: RawHttpResponse): string | undefined {
  const { status, body } = answer;
  // Alertmanager 0.25's own answers about a silence that is not there, which its clients know.
  if (/ \/api\/v2\/silence\//.test(made.shown) && (status === 404 || body.includes("silence")))
    return undefined;
  if (status === 0) return made.isBroken ? undefined : "the connection ended without an answer";
  if (status >= 500 && !documented.has(status)) {
    // Prometheus answers so where a configuration cannot be reloaded, and 505 is Node's to a version it does not speak.
    if (body.includes("failed to reload config: ") || (made.isBroken && status === 505)) return;
    return `HTTP ${status}: ${body.slice(0, 300)}`;
  }
  // Node answers to an Expect it does not know by itself, and says nothing more.
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
    // Every route in turn, so that each gets its share whatever their number.
    const route = server.routes[at % server.routes.length];
    if (route === undefined) throw new Error(`BUG: ${server.name} has no routes`);
    const made = makeRequest(route, server.token, random);
    const tell = (into: string[], says: string): void => {
      // One of a kind is enough: the same route with the same complaint.
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

/** Memory is given back when it pleases the collector: looked at for a while before it is called a leak. */
async function settles(server: FuzzedServer, belowBytes: number): Promise<boolean> {
  for (let look = 0; look < 60; look++) {
    if (residentBytes(server.process.pid) < belowBytes) return true;
    await sleep(500);
  }
  return false;
}

/** 0 where the system does not tell. */
function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4_096;
  } catch {
    return 0;
  }
}

/** The three programs one after the other; most requests go to the hub, which has most to answer. */
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
