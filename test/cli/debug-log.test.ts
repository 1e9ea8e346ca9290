// `--log-level debug` shows what the program does at each reading, batch and scrape; the default does not.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { startProcess, type RunningProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";

beforeAll(ensureBuild, 300_000);
const running: RunningProcess[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});

function start(line: string): RunningProcess {
  const args = line.split(" ");
  const one = startProcess(process.execPath, [program, ...args], { name: `gpulse ${args[0]}` });
  running.push(one);
  return one;
}

test("debug logs each read of a source, each write to a sink, each batch and each scrape", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-debug-"));
  const [agentPort, hubPort] = [await freePort(), await freePort()];
  const config = path.join(dir, "prometheus.yml");
  writeFileSync(
    config,
    `scrape_configs: [{ job_name: gpu, scrape_interval: 1s, static_configs: [{ targets: ["127.0.0.1:${agentPort}"] }] }]\n`,
  );
  const hub = start(
    `hub --port ${hubPort} --data ${dir}/hub --prometheus-config ${config} --log-level debug`,
  );
  await hub.waitForUrl(`http://127.0.0.1:${hubPort}/-/ready`);
  const agent = start(
    `agent --source sim:1 --host 127.0.0.1 --port ${agentPort} --push http://127.0.0.1:${hubPort} --spool ${dir}/spool --log-level debug`,
  );
  await agent.waitForOutput(/debug source read source=\S+ tier=fast tookMs=[\d.]+ readings=\d+/);
  await agent.waitForOutput(/debug sink write sink=\S+ source=\S+ tier=\w+ tookMs=[\d.]+/);
  await agent.waitForOutput(/debug batch sent to="[^"]+" records=\d+ samples=\d+ outcome=sent/);
  await hub.waitForOutput(/debug scrape url=\S+ samples=[1-9]\d* tookMs=[\d.]+/);
});

test("gpulse query up on gpulse up shows the machine under the identity of its series", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-up-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const up = start(`up --no-open --source sim:1 --host-name lab --data ${dir} --port ${port}`);
  await up.waitForUrl(`${url}/-/ready`);
  await expect
    .poll(async () => (await runGpulse(["query", "up", "--url", url])).stdout, { timeout: 20_000 })
    .toMatch(/^up\{instance="lab:9400", job="gpulse"\} +1$/m);
  expect(up.output()).not.toContain("debug");
});
