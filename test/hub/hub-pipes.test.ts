import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-hub-pipes-"));
const [data, lake] = [path.join(folder, "data"), path.join(folder, "lake")];
const soon = { timeout: 30_000, interval: 250 };
let hub: RunningProcess | undefined;
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  await hub?.stop(20_000);
  rmSync(folder, { recursive: true, force: true });
});

async function start(port: number): Promise<RunningProcess> {
  const args = [program, "hub", "--port", String(port), "--data", data];
  const running = startProcess(process.execPath, args, { name: "gpulse hub" });
  await running.waitForUrl(`http://127.0.0.1:${port}/-/ready`);
  return running;
}

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly frames: number | null;
  readonly lagSeconds: number | null;
  readonly trouble: { readonly text: string } | null;
}

function asker(port: number, token: string) {
  return async (method: string, place = "", body?: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/pipes${place}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Shown & { pipes: Shown[]; error?: string };
  };
}

const parquetFiles = (): number =>
  existsSync(lake)
    ? readdirSync(lake, { recursive: true }).filter((name) => String(name).endsWith(".parquet"))
        .length
    : 0;

/** Processes running a pipe of the hub with this data folder. */
const childrenOf = (folderOfHub: string): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const line = readFileSync(`/proc/${name}/cmdline`, "utf8");
        return line.includes(`--data=${folderOfHub}/pipes/`);
      } catch {
        return false;
      }
    })
    .map(Number);

test(
  "a pipe and a replay added by the API run, are counted, stop, and are kept over a restart of the hub and end with a killed one",
  { timeout: 180_000 },
  async () => {
    const made = await runGpulse(["token", "add", "boss", "--scope", "admin", "--data", data]);
    const token = /gpulse_admin_[\w-]+/.exec(made.stdout)?.[0] ?? "";
    const port = await freePort();
    hub = await start(port);
    const ask = asker(port, token);
    const one = async (name: string) => (await ask("GET")).pipes.find((pipe) => pipe.name === name);

    const wrong = await ask("POST", "", {
      name: "x",
      kind: "pipe",
      from: ["simm:1"],
      to: ["parquet:x"],
    });
    expect(wrong.error).toContain('Did you mean "sim"');
    const { id } = await ask("POST", "", {
      name: "to the lake",
      kind: "pipe",
      from: ["sim:1"],
      to: [`parquet:${lake}`],
    });
    await expect.poll(async () => (await one("to the lake"))?.frames ?? 0, soon).toBeGreaterThan(2);
    const running = await one("to the lake");
    expect(running).toMatchObject({ state: "running", trouble: null });
    expect(running?.lagSeconds).toBeLessThan(60);
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toMatch(/gpulse_pipe_frames_total\{source="to the lake\/sim"\} \d+/);

    expect(await ask("POST", `/${id}/stop`)).toMatchObject({ state: "stopped", trouble: null });
    expect(parquetFiles()).toBeGreaterThan(0);

    const csv = path.join(folder, "power.csv");
    const rows = [0, 1, 2].map((at) => `gpu_power_watts,0,pc,A,2026-01-01T00:00:0${at}Z,10${at}`);
    writeFileSync(csv, ["__name__,gpu,host,uuid,time,value", ...rows, ""].join("\n"));
    await ask("POST", "", {
      name: "again",
      kind: "replay",
      from: [csv],
      to: [`parquet:${path.join(folder, "replayed")}`],
      options: { speed: "max" },
    });
    await expect.poll(async () => (await one("again"))?.state, soon).toBe("done");
    await ask("POST", `/${id}/start`);
    await expect.poll(async () => (await one("to the lake"))?.frames ?? 0, soon).toBeGreaterThan(0);

    await hub.stop(20_000);
    hub = await start(port);
    await expect.poll(async () => (await one("to the lake"))?.frames ?? 0, soon).toBeGreaterThan(0);
    expect((await ask("GET")).pipes).toMatchObject([
      { name: "to the lake", state: "running" },
      { name: "again", state: "done" },
    ]);

    // Linux only, where processes can be listed: a pipe whose hub was killed ends by itself.
    if (process.platform !== "linux") return;
    const [pid] = childrenOf(data);
    expect(pid).toBeDefined();
    process.kill(hub.pid, "SIGKILL");
    await hub.waitForExit();
    await expect.poll(() => childrenOf(data), soon).toEqual([]);
  },
);
