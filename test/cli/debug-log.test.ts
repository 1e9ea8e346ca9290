// Tests the log of a running program: at debug level each read, write, batch, scrape and push; at the default level only
// changes, such as a lost GPU.

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

test("debug logs each read of a source, each write to a sink, each batch, scrape, push and write", async () => {
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
  await agent.waitForOutput(
    /debug sink write sink=\S+ source=\S+ tier=\w+ series=\d+ tookMs=[\d.]+ queued=\d+/,
  );
  await agent.waitForOutput(
    /debug batch sent to="[^"]+" records=\d+ samples=\d+ bytes=\d+ outcome=sent tookMs=[\d.]+/,
  );
  await hub.waitForOutput(
    /debug scrape url=\S+ status=200 samples=[1-9]\d* bytes=[1-9]\d* tookMs=[\d.]+/,
  );
  await hub.waitForOutput(
    /debug push received agent=\S+ status=200 frames=[1-9]\d* samples=[1-9]\d* bytes=\d+ tookMs=[\d.]+/,
  );
  await fetch(`http://127.0.0.1:${hubPort}/push`, {
    method: "POST",
    body: JSON.stringify({ metrics: [{ name: "pushed", value: 1 }] }),
  });
  await hub.waitForOutput(
    /debug write received receiver=json client=\S+ series=1 samples=1 tookMs=/,
  );
});

test("more than ten debug lines a second of a component are suppressed and counted", async () => {
  const port = await freePort();
  const agent = start(
    `agent --source sim:1 --interval 100ms --host 127.0.0.1 --port ${port} --log-level debug`,
  );
  await agent.waitForOutput(/debug source read .* suppressed=\d+/);
});

test("a GPU that is lost and returns, and a rejected reading, are one line each with GPU and reason", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-lost-"));
  const scenario = path.join(dir, "lost.yaml");
  writeFileSync(
    scenario,
    [
      "says: One GPU is lost for three seconds.",
      "fleet: [{ model: H200, count: 2 }]",
      "faults: [{ fault: gpu-lost, gpu: 1, at: 2s, for: 3s }]",
    ].join("\n"),
  );
  const gpuz = path.join(dir, "gpu-z.txt");
  const rows = [1, 2, 3].map((second) => `2026-01-02 03:04:0${second} , 1410.0 , 65535.0 , 12 ,`);
  const head = "Date , GPU Clock [MHz] , Hot Spot [\u00b0C] , GPU Load [%] ,";
  writeFileSync(gpuz, [head, ...rows, ""].join("\r\n"), "latin1");
  const port = await freePort();
  const agent = start(
    `agent --source sim:?scenario=${scenario} --source gpuz:${gpuz}?vendor=nvidia --host 127.0.0.1 --port ${port}`,
  );
  const gpu = /gpu=1 uuid=SIM-\S+ model="NVIDIA H200"/.source;
  await agent.waitForOutput(
    new RegExp(`warn  GPU lost source=sim ${gpu} reason="fault gpu-lost of the simulation"\\n`),
  );
  await agent.waitForOutput(new RegExp(`info  GPU returned source=sim ${gpu} lostSeconds=3\\n`));
  const rejected =
    /warn  reading rejected: it is reported as absent source=gpuz gpu=0 uuid=\S+ model=.+ metric=gpu_temperature_celsius sensor=hotspot value=65535 reason=sentinel /;
  await agent.waitForOutput(rejected);
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(page).toMatch(
    /^gpulse_readings_rejected_total\{metric="gpu_temperature_celsius",reason="sentinel",source="gpuz"\} 3$/m,
  );
  const output = agent.output();
  for (const line of ["GPU lost", "GPU returned", "reading rejected"])
    expect(output.split(line)).toHaveLength(2);
  expect(output).not.toContain("debug");
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
