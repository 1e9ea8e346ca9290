// An agent sends to a hub by remote-write and by OTLP, and a hub with a prometheus.yml forwards by remote_write: in each
// case the receiving hub has the same series with the same labels as a scrape of the agent.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { ensureBuild, type RunningAgent, startAgent } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

const stops: (() => Promise<void>)[] = [];
let folder: string;

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-forward-ways-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

async function query(hub: RunningHub, expression: string): Promise<readonly Series[]> {
  const answer = await fetch(`${hub.url}/api/v1/query?query=${encodeURIComponent(expression)}`);
  return ((await answer.json()) as { data: { result: readonly Series[] } }).data.result;
}

const until = (hub: RunningHub, expression: string, count: number): Promise<readonly Series[]> =>
  waitUntil({ what: `${count} of ${expression}`, timeoutMs: 30_000 }, async () => {
    const found = await query(hub, expression);
    if (found.length !== count) throw new Error(`${found.length} series`);
    return found;
  });

async function agentTo(url: string, name: string): Promise<RunningAgent> {
  const spool = ["--spool", path.join(folder, name)];
  const agent = await startAgent(["--source", "sim:2", "--host-name", "n1", "--to", url, ...spool]);
  stops.unshift(() => agent.stop());
  return agent;
}

/** The agent's page about its GPUs, with the labels that a scrape would store. */
async function scraped(agent: RunningAgent, metric: string): Promise<Record<string, string>[]> {
  const page = await (await fetch(`${agent.url}/metrics`)).text();
  return page
    .split("\n")
    .filter((line) => line.startsWith(`${metric}{`))
    .map((line) => ({
      __name__: metric,
      job: "gpulse",
      instance: `n1:${agent.port}`,
      ...Object.fromEntries(
        [...line.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
          ([, name = "", value = ""]) => [name, value] as const,
        ),
      ),
    }));
}

const byUuid = (left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>) =>
  (left["uuid"] ?? "") < (right["uuid"] ?? "") ? -1 : 1;

test.each([
  ["remote-write", "/api/v1/write"],
  ["otlp", "/v1/metrics"],
])("an agent's series come by %s as a scrape gives them, and end with it", async (way, route) => {
  const hub = await startHub({ dataDir: path.join(folder, `hub-${way}`) });
  stops.unshift(() => hub.stop());
  const agent = await agentTo(`${way}+${hub.url}${route}`, `spool-${way}`);
  for (const metric of ["gpu_power_watts", "gpu_energy_joules_total", "gpu_info"]) {
    const found = await until(hub, metric, 2);
    expect(found.map((series) => series.metric).toSorted(byUuid)).toEqual(
      (await scraped(agent, metric)).toSorted(byUuid),
    );
  }
  const page = await (await fetch(`${agent.url}/metrics`)).text();
  expect(page).toMatch(/gpulse_ship_samples_total\{[^}]*outcome="sent"[^}]*\} [1-9]/);
  await agent.stop();
  await until(hub, "gpu_power_watts", 0);
});

test("remote_write of a prometheus.yml sends by 2.0, relabelled and with external labels", async () => {
  const above = await startHub({ dataDir: path.join(folder, "above") });
  stops.unshift(() => above.stop());
  const agent = await startAgent(["--source", "sim:2", "--host-name", "n1"]);
  stops.unshift(() => agent.stop());
  const config = path.join(folder, "prometheus.yml");
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", scrape_timeout: "1s", external_labels: { site: "berlin" } },
      scrape_configs: [
        { job_name: "gpulse", static_configs: [{ targets: [`127.0.0.1:${agent.port}`] }] },
      ],
      remote_write: [
        {
          url: `${above.url}/api/v1/write`,
          protobuf_message: "io.prometheus.write.v2.Request",
          write_relabel_configs: [
            { action: "keep", source_labels: ["__name__"], regex: "gpu_power_watts|up" },
          ],
        },
      ],
    }),
  );
  const hub = await startHub({
    dataDir: path.join(folder, "below"),
    args: [`--prometheus-config=${config}`],
  });
  stops.unshift(() => hub.stop());
  const found = await until(above, "gpu_power_watts", 2);
  expect(found.every(({ metric }) => metric["site"] === "berlin")).toBe(true);
  const names = await query(above, "count by (__name__) ({site='berlin'})");
  expect(new Set(names.map(({ metric }) => metric["__name__"]))).toEqual(
    new Set(["gpu_power_watts", "up"]),
  );
});
