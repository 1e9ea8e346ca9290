// The native stack through its command line, started once for all checks: real programs, the shipped configuration, one
// supervisor. The durations of rules are seconds here (--quick).

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { Engine, traces } from "../../deploy/stack/ask.ts";
import { findCategories } from "../../deploy/stack/categories.ts";
import { remoteControl } from "../../deploy/stack/control.ts";
import type { Figures } from "../../deploy/stack/measure.ts";
import { runningState, type StackState, urlAt } from "../../deploy/stack/place.ts";
import { allTargetsUp } from "../../deploy/stack/report.ts";
import type { Row } from "../../deploy/stack/table.ts";
import { familyOf, processTree } from "../../deploy/stack/usage.ts";
import {
  type FinishedProcess,
  type RunningProcess,
  runProcess,
  startProcess,
} from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { findTool, type ToolName } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { runPanels } from "../../scripts/grafana/live.ts";

const NEEDED: readonly ToolName[] = [
  "redis-server",
  "redis-exporter",
  "postgresql",
  "postgres-exporter",
  "nginx",
  "nginx-exporter",
  "node-exporter",
  "prometheus",
  "alertmanager",
  "victoria-metrics",
];
const missing = NEEDED.flatMap((name) => {
  const found = findTool(name);
  return "missing" in found ? [found.missing] : [];
});

const command = [path.join(repository, "scripts/run-ts.mjs"), "deploy/stack/main.ts", "--tools"];
const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-stack-"));
let program: RunningProcess | undefined;
let state: StackState;

/** Runs another command of the stack against the running one. */
const stackCommand = (args: readonly string[]): Promise<FinishedProcess> =>
  runProcess(process.execPath, [...command, ...args, "--data", dataDir], { timeoutMs: 390_000 });
const rowOf = async (name: string): Promise<Row | undefined> =>
  (await remoteControl(state).rows()).find((row) => row.name === name);

beforeAll(async () => {
  if (missing.length > 0) return;
  program = startProcess(
    process.execPath,
    [...command, "--quick", "--ports", "free", "--data", dataDir, "--day-seconds", "120", "--json"],
    { name: "the stack", cwd: repository },
  );
  try {
    await program.waitForOutput(/"event":"ready"/, 180_000);
  } catch (error) {
    throw new Error(program.output().slice(-4_000), { cause: error });
  }
  const running = runningState(dataDir);
  if (running === undefined) throw new Error(`no state file: ${program.output()}`);
  state = running;
}, 320_000);

beforeEach((context) => {
  if (missing.length > 0) context.skip(missing.join(", "));
});

afterAll(async () => {
  await program?.stop(60_000);
  rmSync(dataDir, { recursive: true, force: true });
}, 90_000);

const engines = (): readonly (readonly [string, Engine])[] => [
  ["Prometheus", new Engine(urlAt(state.ports.prometheus))],
  ["the hub", new Engine(urlAt(state.ports.hub))],
];

test("every target is up in Prometheus and in the hub, and both know more names than the setup they replace", async () => {
  await allTargetsUp(state);
  const [prometheus, hub] = await Promise.all(
    engines().map(async ([, engine]) =>
      (await engine.targets()).map(({ job, url }) => `${job} ${url}`).sort(),
    ),
  );
  expect(hub).toEqual(prometheus);
  expect(prometheus?.length).toBeGreaterThanOrEqual(14);
  for (const [name, engine] of engines()) {
    await expect
      .poll(async () => (await engine.names()).length, { message: name })
      .toBeGreaterThanOrEqual(1_145);
    expect(await engine.number("count(gpu_up == 1)"), name).toBe(8);
  }
});

test(
  "every kind of metric has a series, in Prometheus and in the hub",
  { timeout: 200_000 },
  async () => {
    const seesContainers = (await rowOf("cadvisor"))?.state === "healthy";
    for (const [name, engine] of engines()) {
      await waitUntil({ what: `every kind of metric in ${name}`, timeoutMs: 90_000 }, async () => {
        const absent = (await findCategories(engine)).filter(
          ({ series, group }) => series === 0 && (group !== "container" || seesContainers),
        );
        if (absent.length === 0) return true;
        throw new Error(absent.map((one) => `${one.group}: ${one.name}`).join(", "));
      });
    }
  },
);

test(
  "every query of a panel that needs the application has data, from Prometheus and from the hub",
  { timeout: 200_000 },
  async () => {
    const [prometheusUrl, hubUrl] = [urlAt(state.ports.prometheus), urlAt(state.ports.hub)];
    const ask = async (): Promise<string[]> => {
      const answers = await runPanels({ prometheusUrl, hubUrl, rangeSeconds: 300 });
      const ours = answers.filter(({ needs = "" }) => /demonstration application/.test(needs));
      expect(ours.length).toBeGreaterThan(40);
      return ours.flatMap(({ dashboard, panel, engine, expr, series, error }) =>
        series > 0 ? [] : [`${dashboard}, ${panel}, ${engine}: ${error ?? expr}`],
      );
    };
    await expect.poll(ask, { timeout: 150_000, interval: 3_000 }).toEqual([]);
  },
);

test("one trace goes through gateway, worker and model server", async () => {
  const trace = await waitUntil({ what: "a trace", timeoutMs: 60_000 }, async () => {
    const found = await traces(urlAt(state.ports.traces), ["gateway", "worker", "ml"]);
    return found.traces[0];
  });
  const ids = new Set(trace.spans.map(({ spanId }) => spanId));
  const worker = trace.spans.filter(({ service }) => service === "worker");
  expect(worker.some(({ parentSpanId }) => ids.has(parentSpanId))).toBe(true);
});

test("what is killed is started again, and the others do not notice", async () => {
  const before = await rowOf("redis-exporter");
  const agent = await rowOf("agent");
  process.kill(before?.pid ?? 0, "SIGKILL");
  const after = await waitUntil(
    { what: "the exporter to be back", timeoutMs: 60_000 },
    async () => {
      const row = await rowOf("redis-exporter");
      return row?.state === "healthy" && row.pid !== before?.pid ? row : undefined;
    },
  );
  expect(after.restarts).toBe((before?.restarts ?? 0) + 1);
  expect((await rowOf("agent"))?.pid).toBe(agent?.pid);
});

test(
  "stopping Redis and idling GPUs show in alerts, in mail and at the gateway, and heal",
  { timeout: 400_000 },
  async () => {
    const done = await stackCommand(["drill", "--quick", "--only", "redis,idle"]);
    expect([done.code, done.stderr]).toEqual([0, expect.stringContaining("quick: ")]);
    for (const saw of [
      "a mail notifies people",
      "and in Alertmanager",
      "the webhook has reached the gateway",
      "the mail about GpuIdle",
      "batch work is done",
    ])
      expect(done.stdout).toContain(saw);
  },
);

test(
  "the report holds what was measured, and no dashboard's query fails",
  { timeout: 400_000 },
  async () => {
    const done = await stackCommand(["report", "--json"]);
    expect([done.code, done.stderr]).toEqual([0, expect.any(String)]);
    const figures = JSON.parse(done.stdout) as Figures;
    expect([figures.hub.queries.errors, figures.prometheus.queries.errors]).toEqual([[], []]);
    expect(figures.hub.queries.queries).toBeGreaterThan(100);
    expect([figures.hub.failing, figures.prometheus.failing]).toEqual([[], []]);
    expect(figures.trace).toBeDefined();
    expect(done.stdout).not.toContain(state.control.token);
  },
);

test(
  "SIGTERM stops everything: no process, no port, no state file is left",
  { timeout: 120_000 },
  async () => {
    const pids = familyOf(program?.pid ?? 0, processTree());
    expect(pids.length).toBeGreaterThan(20);
    expect(await program?.stop(60_000)).toEqual({ code: 0, signal: null });
    expect(pids.filter((pid) => existsSync(`/proc/${pid}`) && !isZombie(pid))).toEqual([]);
    const open: string[] = [];
    for (const [name, port] of Object.entries(state.ports))
      if (await answers(port)) open.push(name);
    expect(open).toEqual([]);
    expect(existsSync(path.join(dataDir, "state.json"))).toBe(false);
  },
);

/** True for a process that has ended but is not yet reaped by its new parent. */
const isZombie = (pid: number): boolean => {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
};

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
