// The built hub reloads its scrape configuration: a valid file applies at once, an invalid one is rejected with the
// reason while the old one stays active, and unchanged targets are not disturbed.

import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import type { InstantVectorSample, TargetLists } from "./scrape-pair.ts";

const stops: (() => Promise<void>)[] = [];
let hub: RunningHub;
let own: RunningHub;
let file: string;
let address: string;

const job = (name: string, more = {}) => ({
  job_name: name,
  static_configs: [{ targets: [address] }],
  ...more,
});
const write = (...jobs: readonly object[]): Promise<void> =>
  writeFile(
    file,
    JSON.stringify({
      global: { scrape_interval: "500ms", scrape_timeout: "500ms" },
      scrape_configs: jobs,
    }),
  );
const secret = { basic_auth: { username: "u", password: "hunter2" } };

beforeAll(async () => {
  await ensureBuild();
  const server = createServer((_request, reply) => {
    reply.setHeader("content-type", "text/plain").end('m{host="a:1"} 1\n');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-reload-"));
  stops.push(() => rm(folder, { recursive: true }));
  file = path.join(folder, "prometheus.yml");
  await write(job("one", secret));
  hub = await startHub({ dataDir: path.join(folder, "a"), args: [`--prometheus-config=${file}`] });
  stops.unshift(() => hub.stop());
  const yaml = path.join(folder, "gpulse.yaml");
  await writeFile(
    yaml,
    `global: {scrape_interval: 500ms}
scrape_configs:
  - job_name: own
    static_configs: [{targets: ["${address}"]}]
    metric_relabel_configs:
      - {source_labels: [host], regex: "(.*):.*", target_label: short, replacement: "\${1}"}
`,
  );
  own = await startHub({ dataDir: path.join(folder, "b"), args: [`--config=${yaml}`] });
  stops.unshift(() => own.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

async function ask<Data>(route: string, of = hub): Promise<Data> {
  const body = (await (await fetch(of.url + route)).json()) as { data: Data };
  return body.data;
}
const pools = async (): Promise<readonly string[]> =>
  (await ask<{ scrapePools: string[] }>("/api/v1/scrape_pools")).scrapePools;
const reload = (): Promise<Response> => fetch(`${hub.url}/-/reload`, { method: "POST" });

async function isUp(name: string, of = hub): Promise<void> {
  await waitUntil({ what: `${name} to be up`, timeoutMs: 20_000 }, async () => {
    const { activeTargets } = await ask<TargetLists>("/api/v1/targets", of);
    return activeTargets.some(({ scrapePool, health }) => scrapePool === name && health === "up")
      ? true
      : undefined;
  });
}

test("the configuration is shown without its secrets", async () => {
  const { yaml } = await ask<{ yaml: string }>("/api/v1/status/config");
  expect(yaml).toContain("job_name: one");
  expect(yaml).toContain("password: <secret>");
  expect(yaml).not.toContain("hunter2");
});

test("a new job is taken up, and the old one goes on without an end or a new series", async () => {
  await isUp("one");
  await write(job("one", secret), job("two"));
  expect((await reload()).status).toBe(200);
  expect(await pools()).toEqual(["one", "two"]);
  await isUp("two");
  const added = await ask<{ result: readonly InstantVectorSample[] }>(
    `/api/v1/query?query=${encodeURIComponent('sum_over_time(scrape_series_added{job="one"}[1m])')}`,
  );
  expect(added.result.map(({ value }) => value[1])).toEqual(["1"]);
});

test("a file that cannot be used is refused with its line, and the old configuration stays", async () => {
  await writeFile(file, "scrape_configs:\n  - job_nam: x\n");
  const answer = await reload();
  expect(answer.status).toBe(500);
  expect(await answer.text()).toMatch(
    /^failed to reload config: .*prometheus\.yml:2:\d+: .*job_nam/,
  );
  expect(await pools()).toEqual(["one", "two"]);
  const info = await ask<{ reloadConfigSuccess: boolean }>("/api/v1/status/runtimeinfo");
  expect(info.reloadConfigSuccess).toBe(false);
});

test("a hang-up signal reads the file again, and a job that is gone ends", async () => {
  await write(job("two"));
  process.kill(hub.process.pid, "SIGHUP");
  await waitUntil({ what: "job one to go", timeoutMs: 20_000 }, async () =>
    (await pools()).join() === "two" ? true : undefined,
  );
  await waitUntil({ what: "its series to end", timeoutMs: 20_000 }, async () => {
    const { result } = await ask<{ result: readonly InstantVectorSample[] }>(
      "/api/v1/query?query=up",
    );
    return result.length === 1 && result[0]?.metric["job"] === "two" ? true : undefined;
  });
  const info = await ask<{ reloadConfigSuccess: boolean }>("/api/v1/status/runtimeinfo");
  expect(info.reloadConfigSuccess).toBe(true);
});

test("gpulse.yaml says what is scraped in the same words", async () => {
  await isUp("own", own);
  const { result } = await ask<{ result: readonly InstantVectorSample[] }>(
    "/api/v1/query?query=m",
    own,
  );
  expect(result.map(({ metric }) => metric["short"])).toEqual(["a"]);
});
