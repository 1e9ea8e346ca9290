// The hub as the chart starts it, with its folders elsewhere: nobody asks it without the password of the chart's Secret.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";

import { kubeTools } from "../../engines/helm.ts";
import { orSkip } from "../../engines/cache.ts";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { ofKind, rendered, workloads } from "./deploy-chart.ts";

beforeAll(ensureBuild);

test("the chart's hub answers its probes to everyone, and questions only to who has the Secret", async (context) => {
  await orSkip(context, kubeTools());
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
    "config/prometheus.yml": config["prometheus.yml"],
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
  const ask = async (headers: Record<string, string>): Promise<number> => {
    const response = await fetch(`${url}/api/v1/query?query=1`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  const basic = (password: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${secret["user"]}:${password}`).toString("base64")}`,
  });
  expect(await ask({})).toBe(401);
  expect(await ask(basic("another"))).toBe(401);
  expect(await ask(basic(secret["password"] ?? ""))).toBe(200);
  expect(hub.output()).not.toContain(secret["password"]);
});
