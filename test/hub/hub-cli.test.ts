import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-hub-"));
beforeAll(ensureBuild, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(
  command: "hub" | "up",
  port: number,
  data: string,
  ...more: string[]
): Promise<RunningProcess> {
  const args = [
    program,
    command,
    "--port",
    String(port),
    "--data",
    data,
    "--log-level",
    "error",
    ...more,
  ];
  const running = startProcess(process.execPath, args, { name: `gpulse ${command}` });
  await running.waitForUrl(`http://127.0.0.1:${port}/-/ready`);
  return running;
}

test("up keeps its history over a restart; query asks it; backup brings it back elsewhere", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const data = path.join(folder, "data");
  const up = ["--source", "sim:2", "--no-open"];
  const count = async (): Promise<number> => {
    const { stdout } = await runGpulse([
      "query",
      "sum(count_over_time(gpu_power_watts[1h]))",
      "--url",
      url,
      "--json",
    ]);
    const { result } = JSON.parse(stdout) as { result: { value: [number, string] }[] };
    return Number(result[0]?.value[1] ?? 0);
  };
  let running = await start("up", port, data, ...up);
  await waitUntil({ what: "some history", timeoutMs: 30_000 }, async () =>
    (await count()) >= 6 ? true : undefined,
  );
  const before = await count();
  await running.stop();
  running = await start("up", port, data, ...up);
  try {
    expect(await count()).toBeGreaterThanOrEqual(before);
    const table = await runGpulse(["query", "gpu_power_watts", "--url", url]);
    expect(table.stdout).toMatch(/gpu_power_watts\{.*instance=".*:9400", job="gpulse".*\} +\d/);
    const chart = await runGpulse(["query", "gpu_power_watts", "--since", "1m", "--url", url]);
    expect(chart.stdout).toMatch(/[▁▂▃▄▅▆▇█]/);
    const wrong = await runGpulse(["query", "rate(", "--url", url]);
    expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
    expect(wrong.stderr).toContain("parse error");
    const made = await runGpulse(["token", "add", "kept", "--scope", "admin", "--data", data]);
    expect(made.code).toBe(0);
    const access = { env: { GPULSE_TOKEN: /gpulse_admin_[\w-]+/.exec(made.stdout)?.[0] ?? "" } };
    const copy = path.join(folder, "copy");
    // Neither the default port nor --url: the folder's address file leads to its hub.
    const create = ["backup", "create", copy, "--data", data];
    const done = await runProcess(process.execPath, [program, ...create], access);
    expect(done).toMatchObject({ code: 0 });
    const restored = path.join(folder, "restored");
    expect((await runGpulse(["backup", "restore", copy, "--data", restored])).code).toBe(0);
    expect((await runGpulse(["token", "list", "--data", restored])).stdout).toContain("kept");
    const second = await freePort();
    const hub = await start("hub", second, restored, "--no-self-scrape");
    const names = await (
      await fetch(`http://127.0.0.1:${second}/api/v1/label/__name__/values`)
    ).text();
    expect(names).toContain("gpu_power_watts");
    await hub.stop();
  } finally {
    await running.stop();
  }
}, 120_000);

test("a backup of a folder that another process holds names it, and leaves no part of a copy", async () => {
  const data = path.join(folder, "held");
  const hub = await start("hub", await freePort(), data, "--no-self-scrape");
  const copy = path.join(folder, "held-copy");
  try {
    rmSync(path.join(data, "address"));
    const other = ["--url", `http://127.0.0.1:${await freePort()}`];
    const unnamed = await runGpulse(["backup", "create", copy, "--data", data, ...other]);
    expect(unnamed.code).toBe(1);
    expect(unnamed.stderr).toContain(`is in use by process ${hub.pid}`);
    expect(unnamed.stderr).toContain("--url");
    expect(readdirSync(folder).filter((name) => name.startsWith("held-copy"))).toEqual([]);
  } finally {
    process.kill(hub.pid, "SIGKILL");
    await hub.waitForExit();
  }
  // The lock and address of a killed hub are stale: the folder itself is opened.
  writeFileSync(path.join(data, "address"), "http://127.0.0.1:1/\n");
  const done = await runGpulse(["backup", "create", copy, "--data", data]);
  expect([done.code, done.stderr]).toEqual([0, ""]);
  expect(readdirSync(copy)).toContain("manifest.json");
}, 60_000);

test("a folder of a newer gpulse is refused, and nothing in it is touched", async () => {
  const data = path.join(folder, "newer");
  await (await start("hub", await freePort(), data, "--no-self-scrape")).stop();
  const file = path.join(data, "manifest.json");
  const [first = ""] = readFileSync(file, "utf8").split("\n");
  const line = `${JSON.stringify({ ...(JSON.parse(first) as object), version: 99 })}\n`;
  const newer = `${line}${crc32(line).toString(16)}\n`;
  writeFileSync(file, newer);
  const listed = (): Set<string> =>
    new Set(readdirSync(data, { recursive: true, encoding: "utf8" }));
  const files = listed();
  const reported = await runGpulse(["hub", "--port", "0", "--data", data, "--log-level", "error"]);
  expect(reported.code).not.toBe(0);
  expect(reported.stderr).toContain("was written by a newer gpulse");
  expect(readFileSync(file, "utf8")).toBe(newer);
  expect(listed()).toEqual(files);
}, 60_000);

test("a second hub on the same folder is refused in one sentence", async () => {
  const data = path.join(folder, "locked");
  const hub = await start("hub", await freePort(), data);
  try {
    const { code, stderr } = await runGpulse([
      "hub",
      "--port",
      "0",
      "--data",
      data,
      "--log-level",
      "error",
    ]);
    expect([code, stderr.trim().split("\n")]).toEqual([
      2,
      [expect.stringContaining("is in use by process")],
    ]);
  } finally {
    await hub.stop();
  }
}, 60_000);

test("an empty hub keeps samples from the epoch on, answers times before it, and puts nothing in itself", async () => {
  const port = await freePort();
  const hub = await start(
    "hub",
    port,
    path.join(folder, "empty"),
    "--retention",
    "100y",
    "--no-self-scrape",
  );
  try {
    const ask = async (pathname: string): Promise<unknown> =>
      (await fetch(`http://127.0.0.1:${port}${pathname}`)).json();
    expect(await ask("/api/v1/query?query=up&time=-1000")).toEqual({
      status: "success",
      data: { resultType: "vector", result: [] },
    });
    expect(await ask("/api/v1/labels")).toEqual({ status: "success", data: [] });
  } finally {
    await hub.stop();
  }
}, 60_000);
