/**
 * `npm run overload [SCENARIO…]`: floods a built hub with one scenario after the other, and prints the effect on well-behaved
 * clients beside the flood: `/-/healthy`, an agent's lost samples, a reader's median relative to its quiet one, and the hub's
 * memory. OVERLOAD_SECONDS (15) is the duration of each flood, OVERLOAD_SERIES (20000) the number of series stored before it.
 */
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type RunningHub, startHub } from "../engines/hub.ts";
import { Tokens } from "../src/access/tokens.ts";
import { silentLog } from "../src/base/log.ts";
import { HubClient } from "./overload/client.ts";
import type { FloodSpec } from "./overload/flood-process.ts";
import { InnocentAgent, timeRequests, type Times } from "./overload/innocent.ts";
import { scenarios } from "./overload/scenarios.ts";

const seconds = Number(process.env["OVERLOAD_SECONDS"] ?? 15);
const seriesCount = Number(process.env["OVERLOAD_SERIES"] ?? 20_000);
const quietSeconds = 5;
const readerQuery = `/api/v1/query?query=${encodeURIComponent("sum by (group) (seeded)")}`;
const flooder = fileURLToPath(new URL("overload/flood-process.ts", import.meta.url));
const tsx = fileURLToPath(import.meta.resolve("tsx"));

/** Tokens of the flood, which pushes and reads, and of the well-behaved agent and reader. */
function makeTokens(dataDir: string): string[] {
  const tokens = new Tokens({ dataDir, log: silentLog });
  const made = (["push", "read", "admin", "read"] as const).map((scope, at) =>
    tokens.add({ name: `${scope}-${at}`, scope }, Date.now(), randomBytes).text.reveal(),
  );
  tokens.close();
  return made;
}

interface Outcome {
  readonly quietHealthy: Times;
  readonly healthy: Times;
  readonly quiet: Times;
  readonly flooded: Times;
  readonly made: number;
  readonly lost: number;
  readonly retries: number;
  readonly peakMib: number;
  /** Processor time of all threads of the hub, in cores. */
  readonly cores: number;
  readonly answers: string;
  readonly logLines: number;
}

async function seed(client: HubClient): Promise<void> {
  for (let round = 0; round < 2; round++)
    for (let from = 0; from < seriesCount; from += 2_000) {
      const metrics = Array.from({ length: Math.min(2_000, seriesCount - from) }, (_, at) => ({
        name: "seeded",
        value: at + round,
        labels: { series: String(from + at), group: String(at % 10) },
      }));
      const body = JSON.stringify({ time: Date.now() / 1_000 - 60 + round * 30, metrics });
      const headers = { "content-type": "application/json" };
      for (;;) {
        const { status } = await client.send({ path: "/push", headers, body });
        if (status === 204) break;
        await sleep(500);
      }
    }
}

/** In clock ticks of 10 ms. */
function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const peakMib = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;

async function during(hub: RunningHub, name: string, tokens: readonly string[]): Promise<Outcome> {
  const [push = "", read = "", agentToken = "", readerToken = ""] = tokens;
  const port = Number(new URL(hub.url).port);
  const reader = new HubClient(port, readerToken, "127.0.0.4");
  const agentClient = new HubClient(port, agentToken, "127.0.0.3");
  const prober = new HubClient(port, "");
  await seed(agentClient);
  const quietUntilMs = performance.now() + quietSeconds * 1_000;
  const isQuietOver = (): boolean => performance.now() > quietUntilMs;
  const [quietHealthy, quiet] = await Promise.all([
    timeRequests(prober, "/-/healthy", isQuietOver),
    timeRequests(reader, readerQuery, isQuietOver),
  ]);
  const spec: FloodSpec = { scenario: name, port, tokens: { push, read } };
  const flood = fork(flooder, { execArgv: ["--import", tsx] });
  process.once("exit", () => flood.kill("SIGKILL"));
  flood.send(spec);
  await new Promise((resolve) => flood.once("message", resolve));
  const processorBefore = processorSeconds(hub.process.pid);
  const linesBefore = hub.process.output().split("\n").length;
  const untilMs = performance.now() + seconds * 1_000;
  const isOver = (): boolean => performance.now() > untilMs;
  const agent = new InnocentAgent(agentClient);
  const [healthy, flooded] = await Promise.all([
    timeRequests(prober, "/-/healthy", isOver),
    timeRequests(reader, readerQuery, isOver),
    agent.run(isOver),
  ]);
  const cores = (processorSeconds(hub.process.pid) - processorBefore) / seconds;
  const answers = await new Promise<Record<string, number>>((resolve) => {
    flood.once("message", (statuses) => resolve(statuses as Record<string, number>));
    flood.send("stop");
  });
  await new Promise((resolve) => flood.once("exit", resolve));
  const lost = await agent.lost();
  for (const client of [reader, agentClient, prober]) client.close();
  return {
    quietHealthy,
    healthy,
    quiet,
    flooded,
    made: agent.made,
    lost,
    retries: agent.retries,
    peakMib: peakMib(hub.process.pid),
    cores,
    answers: Object.entries(answers)
      .map(([status, count]) => `${count}×${status}`)
      .join(" "),
    logLines: hub.process.output().split("\n").length - linesBefore,
  };
}

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;

async function main(): Promise<void> {
  const asked = process.argv.slice(2);
  const names = asked.length > 0 ? asked : Object.keys(scenarios);
  const unknown = names.filter((name) => scenarios[name] === undefined);
  if (unknown.length > 0)
    throw new Error(
      `no scenario ${unknown.join(", ")}: there are ${Object.keys(scenarios).join(", ")}`,
    );
  const [load = 0] = loadavg();
  console.log(
    `${seriesCount} series, ${seconds} s of flood each, ${cpus().length} cores with a load of ${load.toFixed(1)} before\n`,
  );
  console.log(
    "| flood | /-/healthy p99, quiet | flooded | longest | reader's median, quiet | flooded | ratio | agent's samples | lost | resends | peak RSS | hub's cores | log lines | answers to the flood |",
  );
  console.log("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  let lostAny = false;
  for (const name of names) {
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-overload-"));
    const tokens = makeTokens(folder);
    const hub = await startHub({ dataDir: folder, args: ["--auth=always"] });
    try {
      const found = await during(hub, name, tokens);
      lostAny ||= found.lost !== 0;
      const { quietHealthy, healthy, quiet, flooded } = found;
      console.log(
        `| ${name} | ${ms(quietHealthy.p99Ms)} | ${ms(healthy.p99Ms)} | ${ms(healthy.longestMs)} | ${ms(quiet.medianMs)} | ${ms(flooded.medianMs)} | ${(flooded.medianMs / quiet.medianMs).toFixed(1)} | ${found.made} | ${found.lost} | ${found.retries} | ${found.peakMib.toFixed(0)} MiB | ${found.cores.toFixed(2)} | ${found.logLines} | ${found.answers} |`,
      );
    } finally {
      await hub.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }
  if (lostAny) process.exitCode = 1;
}

await main();
