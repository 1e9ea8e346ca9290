// A thousand targets with a hundred series each: all are up, each at its own offset. The hub's cost per scraped sample
// is printed instead of tested, because a limit would be unreliable on a busy machine.

import { Worker } from "node:worker_threads";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import type { InstantVectorSample } from "./scrape-pair.ts";

const TARGETS = 1_000;
const SERIES = 100;
const MEASURED_MS = 20_000;
const stops: (() => Promise<void>)[] = [];
let hub: RunningHub;

/** Values change with every page. */
const exporter = `
  const { parentPort } = require("node:worker_threads");
  let n = 0;
  const server = require("node:http").createServer((request, reply) => {
    n++;
    let page = "";
    for (let at = 0; at < ${SERIES}; at++)
      page += 'some_metric_name{device="device-' + at + '",kind="kind of it"} ' + (at * 1000 + n) + '\\n';
    reply.setHeader("content-type", "text/plain; version=0.0.4").end(page);
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

beforeAll(async () => {
  await ensureBuild();
  const worker = new Worker(exporter, { eval: true });
  stops.push(async () => void (await worker.terminate()));
  const [port] = (await once(worker, "message")) as [number];
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-many-"));
  stops.push(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "prometheus.yml");
  const groups = Array.from({ length: TARGETS }, (_, at) => ({
    targets: [`127.0.0.1:${port}`],
    labels: { instance: `machine-${at}:9400`, __param_n: String(at) },
  }));
  const config = {
    global: { scrape_interval: "5s", scrape_timeout: "5s" },
    scrape_configs: [{ job_name: "many", static_configs: groups }],
  };
  await writeFile(file, JSON.stringify(config));
  hub = await startHub({
    dataDir: path.join(folder, "data"),
    args: [`--prometheus-config=${file}`],
  });
  stops.unshift(() => hub.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

async function vectorOf(expression: string): Promise<readonly number[]> {
  const url = `${hub.url}/api/v1/query?query=${encodeURIComponent(expression)}`;
  const body = (await (await fetch(url)).json()) as {
    data: { result: readonly InstantVectorSample[] };
  };
  return body.data.result.map(({ value }) => Number(value[1]));
}
const valueOf = async (expression: string): Promise<number> => (await vectorOf(expression))[0] ?? 0;

/** Ticks of a hundredth of a second, user and system. */
function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${hub.process.pid}/stat`, "utf8").split(") ")[1]?.split(" ");
  return (Number(fields?.[11]) + Number(fields?.[12])) / 100;
}

test("a thousand targets are scraped in time, spread over the interval", async (context) => {
  if (process.platform !== "linux") context.skip("needs Linux's /proc to tell processor time");
  await waitUntil({ what: "all targets to be up", timeoutMs: 60_000 }, async () =>
    (await valueOf("sum(up)")) === TARGETS ? true : undefined,
  );
  await sleep(5_000);
  const [beforeSeconds, beforeMs] = [cpuSeconds(), performance.now()];
  await sleep(MEASURED_MS);
  const seconds = cpuSeconds() - beforeSeconds;
  const tookSeconds = (performance.now() - beforeMs) / 1_000;
  const samples = ((TARGETS * (SERIES + 5)) / 5) * tookSeconds;
  const line = `${TARGETS} targets, ${Math.round(samples / tookSeconds)} samples/s: ${((seconds / samples) * 1e6).toFixed(2)} µs of processor a sample, ${((seconds / tookSeconds) * 100).toFixed(1)} % of one core`;
  process.stdout.write(`${line}\n`);
  await context.annotate(line);
  expect(await valueOf("min(min_over_time(up[20s]))")).toBe(1);
  expect(await valueOf("min(count_over_time(up[20s]))")).toBeGreaterThanOrEqual(3);
  const moments = await vectorOf("timestamp(up) % 5");
  for (let second = 0; second < 5; second++)
    expect(moments.filter((at) => Math.floor(at) === second).length).toBeGreaterThan(100);
});
