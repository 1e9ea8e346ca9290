// The hub as the chart starts it, with other folders: without the password in the chart's Secret there is no access.

import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";

import { kubeTools } from "../../engines/helm.ts";
import { orSkip } from "../../engines/cache.ts";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { ensureBuild, program, startAgent } from "../../engines/program.ts";
import { type Container, ofKind, rendered, workloads } from "./deploy-chart.ts";

beforeAll(ensureBuild);

interface ChartHub {
  readonly url: string;
  readonly container: Container | undefined;
  readonly secret: Readonly<Record<string, string>>;
  readonly output: () => string;
}

/** @param edit changes the chart's prometheus.yml, whose discovery needs a cluster */
async function startChartHub(edit = (text: string): string => text): Promise<ChartHub> {
  const manifests = await rendered("sim");
  const container = workloads(manifests).find(({ kind }) => kind === "StatefulSet")?.spec.template
    .spec.containers[0];
  const secret = ofKind(manifests, "Secret")[0]?.stringData ?? {};
  const config = ofKind(manifests, "ConfigMap")[0]?.data ?? {};

  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-hub-pod-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const part of ["var/lib/gpulse", "etc/gpulse/config", "etc/gpulse/auth"])
    await mkdir(path.join(folder, part), { recursive: true });
  const files = {
    "auth/web.yml": secret["web.yml"],
    "config/prometheus.yml": edit(config["prometheus.yml"] ?? ""),
  };
  for (const [file, text = ""] of Object.entries(files))
    await writeFile(path.join(folder, "etc/gpulse", file), text);
  const port = await freePort();
  const args = (container?.args ?? []).map((argument) =>
    argument.replace("=/", `=${folder}/`).replace("--port=9410", `--port=${port}`),
  );
  expect(args.filter((argument) => argument.includes(folder))).toHaveLength(3);
  const hub = startProcess(process.execPath, [program, ...args], { name: "the chart's hub" });
  onTestFinished(async () => void (await hub.stop()));

  const url = `http://127.0.0.1:${port}`;
  for (const probe of [container?.livenessProbe, container?.readinessProbe])
    await hub.waitForUrl(`${url}${probe?.httpGet.path}`, 60_000);
  return { url, container, secret, output: () => hub.output() };
}

const basic = (user = "", password = ""): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

test("the chart's hub answers its probes to everyone, and questions only to who has the Secret", async (context) => {
  await orSkip(context, kubeTools());
  const { url, secret, output } = await startChartHub();
  const ask = async (headers: Record<string, string>): Promise<number> => {
    const response = await fetch(`${url}/api/v1/query?query=1`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  expect(await ask({})).toBe(401);
  expect(await ask(basic(secret["user"], "another"))).toBe(401);
  expect(await ask(basic(secret["user"], secret["password"]))).toBe(200);
  expect(output()).not.toContain(secret["password"]);
});

/** Serves the agent's own page with one GPU far above its power limit. */
async function startOverloaded(agentUrl: string): Promise<string> {
  const serve = async (response: ServerResponse): Promise<void> => {
    const page = await (await fetch(`${agentUrl}/metrics`)).text();
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(page.replace(/^(gpu_power_watts\{[^}]*gpu="1"[^}]*\}) .*$/m, "$1 950"));
  };
  const proxy = createServer((_, response) => {
    serve(response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void proxy.close());
  await once(proxy, "listening");
  return `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test("an agent that the chart's hub scrapes is on the fleet page with its frames, and watched for anomalies", async (context) => {
  await orSkip(context, kubeTools());
  const agent = await startAgent(["--source", "sim:2?seed=3&model=H200", "--host-name", "node-1"]);
  onTestFinished(() => agent.stop());
  const target = await startOverloaded(agent.url);
  const { url, secret } = await startChartHub((text) => {
    const config = parse(text) as { scrape_configs: Record<string, unknown>[] };
    const [job] = config.scrape_configs;
    expect(job).toHaveProperty("kubernetes_sd_configs");
    // Replaces the cluster's discovery by the agent's address; interval and labels stay those of the chart.
    const { kubernetes_sd_configs: _, relabel_configs: _rules, ...rest } = job ?? {};
    const targets = [{ targets: [target], labels: { instance: "node-1:9400" } }];
    const scrape_configs = [{ ...rest, static_configs: targets }];
    return JSON.stringify({ ...config, scrape_configs });
  });
  const get = async (route: string): Promise<string> =>
    (await fetch(`${url}${route}`, { headers: basic(secret["user"], secret["password"]) })).text();
  await expect
    .poll(async () => new Set((await get("/api/fleet")).match(/SIM-[0-9a-f-]+/g)).size, {
      timeout: 40_000,
    })
    .toBe(2);
  const query = encodeURIComponent('gpu_anomaly_active{kind="power_spike",gpu="1",host="node-1"}');
  await expect
    .poll(async () => get(`/api/v1/query?query=${query}`), { timeout: 40_000 })
    .toContain('"kind":"power_spike"');
});
