// Tests that every long-running program exposes runtime metrics, and that the hub stores its own for its rules.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";

const expected = [
  "nodejs_eventloop_lag_p99_seconds",
  "nodejs_eventloop_lag_max_seconds",
  "nodejs_heap_size_used_bytes",
  "nodejs_heap_size_limit_bytes",
  "nodejs_external_memory_bytes",
  "process_resident_memory_bytes",
  "process_cpu_seconds_total",
  "process_open_fds",
];

beforeAll(ensureBuild, 240_000);

async function start(command: string, ...more: string[]): Promise<string> {
  const data = mkdtempSync(path.join(tmpdir(), "gpulse-runtime-"));
  const port = await freePort();
  const args = ["--port", String(port), "--host", "127.0.0.1", ...more];
  const running = startProcess(process.execPath, [program, command, ...args], {
    env: { GPULSE_DATA: data },
  });
  onTestFinished(async () => {
    await running.stop();
    rmSync(data, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await running.waitForUrl(`${url}/metrics`, 60_000);
  return url;
}

const namesAt = async (url: string): Promise<Set<string>> =>
  new Set((await (await fetch(`${url}/metrics`)).text()).match(/^[a-z]\w+/gm));

test.for([
  ["agent", ["--source", "sim:1"], []],
  ["hub", [], ["gpulse_memory_limit_bytes"]],
  ["up", ["--source", "sim:1", "--no-open"], ["gpulse_memory_limit_bytes"]],
] as const)(
  "%s exposes event-loop delay, heap and the process",
  { timeout: 90_000 },
  async ([command, args, more]) => {
    const url = await start(command, ...args);
    await expect
      .poll(async () => {
        const names = await namesAt(url);
        return [...expected, ...more].filter((name) => !names.has(name));
      })
      .toEqual([]);
  },
);

test("the hub's rules can ask for them", { timeout: 120_000 }, async () => {
  const url = await start("hub");
  for (const name of ["nodejs_heap_size_limit_bytes", "gpulse_memory_limit_bytes"])
    await expect
      .poll(
        async () => {
          const answer = await fetch(`${url}/api/v1/query?query=${name}{job="gpulse-hub"}`);
          return ((await answer.json()) as { data: { result: unknown[] } }).data.result.length;
        },
        { timeout: 60_000 },
      )
      .toBe(1);
});
