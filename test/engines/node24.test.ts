// The built program on Node 24, the recommended version.

import { afterAll, beforeAll, expect, test } from "vitest";

import { node24 } from "../../engines/node24.ts";
import { runProcess } from "../../engines/process.ts";
import { runGpulse, type RunningAgent, startAgent } from "../../engines/program.ts";

let node: string;
let agent: RunningAgent | undefined;

beforeAll(async () => {
  node = await node24();
});

afterAll(async () => {
  await agent?.stop();
});

test("the Node under test is version 24", async () => {
  const { stdout } = await runProcess(node, ["--version"]);
  expect(stdout).toMatch(/^v24\./);
});

test("gpulse --help answers on Node 24 and prints no warning", async () => {
  const { code, stdout, stderr } = await runGpulse(["--help"], { node });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("agent");
});

test("gpulse top draws on Node 24 and complains of nothing", async () => {
  const { code, stdout, stderr } = await runGpulse(["top", "--once", "--source", "sim:2"], {
    node,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("GPU");
});

test("an agent on Node 24 serves two simulated GPUs", async () => {
  agent = await startAgent(["--source", "sim:2", "--interval", "1s"], { node });
  const page = await (await fetch(`${agent.url}/metrics`)).text();
  expect(page.match(/^gpu_up\{/gm)).toHaveLength(2);
  expect(agent.process.output()).not.toContain("flag");
});
