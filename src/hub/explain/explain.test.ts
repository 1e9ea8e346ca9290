import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import * as v from "valibot";
import { expect, onTestFinished, test } from "vitest";
import { simulateHistory } from "../../../test/fixtures/view/simulated-history.ts";
import { createEngine } from "../../query/engine.ts";
import { type Explanation, explanationSchema } from "../../view/explain/explanation.ts";
import { silentLog } from "../../base/log.ts";
import type { GpuTick } from "../../runs/jobs/tick.ts";
import { HubJobs } from "../jobs/jobs.ts";
import { addExplain } from "./routes.ts";

const models = Array.from({ length: 8 }, () => "H200");
const sick = simulateHistory(
  models,
  [
    { fault: "fan-failure", gpu: 1, at: "100m", for: "60m" },
    { fault: "pcie-downgrade", gpu: 2, at: "100m", for: "60m" },
    { fault: "gpu-lost", gpu: 3, at: "117m", for: "60m" },
    { fault: "xid", gpu: 4, at: "113m", for: "10m", amount: 48 },
  ],
  120,
);
const app = fastify();
addExplain(app, { history: sick.store, nowMs: () => sick.endMs });
const uuid = (gpu: number): string => sick.uuids[gpu] ?? "";
const get = async (query: string) => app.inject(`/api/explain?${query}`);
const ask = async (query: string): Promise<Explanation> =>
  v.parse(explanationSchema, (await get(query)).json());

test.each([
  [1, "airflow_lost", 100],
  [2, "pcie_degraded", 100],
  [3, "gpu_lost", 117],
  [4, "xid_error", 113],
])("GPU %i is explained by %s, since it began", async (gpu, cause, minute) => {
  const found = await ask(`gpu=${uuid(gpu)}`);
  const [first] = found.causes;
  expect(found.outcome).toBe("causes");
  expect(first).toMatchObject({ cause, gpus: [uuid(gpu)] });
  expect(Math.abs((first?.sinceMs ?? 0) - sick.startMs - minute * 60_000)).toBeLessThan(180_000);
  expect(first?.runbook.step).not.toBe("");
});

test("a sound GPU has no cause, and the answer says how much was looked at", async () => {
  const found = await ask(`gpu=${uuid(6)}`);
  expect(found).toMatchObject({ outcome: "nothing_stands_out", causes: [] });
  expect(found.sentence).toMatch(
    /^Nothing stands out about GPU 6 of node-1 \(NVIDIA H200\): \d+ series/,
  );
  expect(found.lookedAt.gpus).toBe(8);
});

test("a sentence about a GPU reads as one", async () => {
  const summaries = (await ask(`host=${sick.host}`)).causes.map(({ summary }) => summary);
  expect(summaries).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^GPU 1 of node-1 is at \d+ °C at \d+ W, where \d+ °C is usual for it/),
      expect.stringMatching(/^GPU 3 of node-1 has not responded for 3 min, while the 7 others on/),
      expect.stringMatching(/^GPU 4 of node-1 reported Xid 48 \(Double-bit ECC error\): memory /),
      expect.stringMatching(/^GPU 2 of node-1: its PCIe link has /),
    ]),
  );
});

test("the numbers of a sentence are those of its queries", async () => {
  const [{ summary, evidence } = { summary: "", evidence: [] }] = (await ask(`gpu=${uuid(1)}`))
    .causes;
  const [chip, power, memory] = evidence;
  const kelvin = (memory?.value ?? 0) - (memory?.usual ?? 0);
  expect(summary).toContain(
    `is at ${chip?.value.toFixed(0)} °C at ${power?.value.toFixed(0)} W, where ${chip?.usual?.toFixed(0)} °C is usual`,
  );
  expect(summary).toContain(`its memory is ${kelvin.toFixed(0)} K too hot`);
});

test("a machine's name keeps its case where no reading arrives", async () => {
  const time = (sick.endMs + 10 * 60_000) / 1_000;
  const found = await ask(`host=${sick.host}&time=${time}`);
  const silent = found.causes.find(({ cause }) => cause === "host_silent");
  expect(silent?.summary).toMatch(/^No reading of the GPUs of node-1 has arrived for 10 min: /);
});

test("before the fault nothing stands out", async () => {
  const time = (sick.startMs + 95 * 60_000) / 1_000;
  expect(await ask(`gpu=${uuid(1)}&time=${time}`)).toMatchObject({ outcome: "nothing_stands_out" });
});

test("a machine is explained by the causes on all of its GPUs, consequences last", async () => {
  const found = await ask(`host=${sick.host}`);
  const names = found.causes.slice(0, 4).map(({ cause }) => cause);
  expect(new Set(names)).toEqual(
    new Set(["gpu_lost", "xid_error", "airflow_lost", "pcie_degraded"]),
  );
});

test("the PromQL beside a number returns that number", async () => {
  const engine = createEngine();
  const { causes } = await ask(`host=${sick.host}`);
  const shown = causes.flatMap(({ evidence }) => evidence);
  expect(shown.length).toBeGreaterThan(5);
  for (const { promql, value } of shown) {
    const { data } = await engine.instant(promql, sick.endMs, sick.store);
    const found = data.type === "vector" ? data.samples[0]?.value : undefined;
    expect([promql, found]).toEqual([promql, expect.closeTo(value, 1)]);
  }
});

test("with a few minutes of history, it says that they are too few to know what is usual", async () => {
  const found = await ask(`gpu=${uuid(6)}&time=${(sick.startMs + 10 * 60_000) / 1_000}`);
  expect(found.outcome).toBe("nothing_stands_out");
  expect(found.sentence).toContain("only 10 min of history: too little to know what is usual");
  expect(found.lookedAt.toMs - found.lookedAt.fromMs).toBeLessThanOrEqual(600_000);
});

test("a job is explained by the GPUs it held, at its end where it is over", async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-explain-"));
  const nowMs = (): number => sick.endMs;
  const retentionMs = 365 * 86_400_000;
  const jobs = new HubJobs({ dataDir, retentionMs, log: silentLog, nowMs, trustedNowMs: nowMs });
  onTestFinished(() => {
    jobs.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const minute = (at: number, ...workloads: string[]): GpuTick => ({
    uuid: uuid(1),
    host: sick.host,
    gpu: 1,
    model: "NVIDIA H200",
    simulated: true,
    timeMs: sick.startMs + at * 60_000,
    joules: at * 60_000,
    meter: "hardware",
    owners: workloads.map((workload) => ({ labels: { workload } })),
  });
  const ticks = Array.from({ length: 121 }, (_, at) =>
    minute(at, ...(at < 90 ? ["41"] : at > 100 ? ["42"] : [])),
  );
  jobs.enter(["ticks", ticks]);
  const own = fastify();
  addExplain(own, { history: sick.store, jobs, nowMs });
  const explainJob = async (key: string): Promise<Explanation> => {
    const reply = await own.inject(`/api/explain?job=${key}`);
    return v.parse(explanationSchema, reply.json());
  };
  const running = await explainJob("slurm:42");
  expect(running.subject).toMatchObject({ kind: "job", label: "job 42" });
  expect(running.causes[0]).toMatchObject({ cause: "airflow_lost", gpus: [uuid(1)] });
  expect(running.timeMs).toBe(sick.endMs);
  const before = await explainJob("slurm:41");
  expect(before.outcome).toBe("nothing_stands_out");
  expect(before.timeMs).toBeLessThan(sick.startMs + 91 * 60_000);
});

test.each([
  ["", 400, "Name one of gpu=UUID"],
  ["gpu=a&host=b", 400, "Name one of gpu=UUID"],
  ["gpu=", 400, "gpu"],
  ["gpu=a&nonsense=1", 400, "nonsense"],
  ["gpu=a&time=yesterday", 400, "time takes seconds"],
  ["gpu=nobody", 404, 'No GPU "nobody"'],
  ["host=nobody", 404, 'No machine "nobody"'],
  ["job=4711", 404, "no job ledger"],
  ["alert=0123456789abcdef", 404, "No alert"],
])("?%s is answered with %i and a sentence", async (query, status, sentence) => {
  const reply = await get(query);
  expect(reply.statusCode).toBe(status);
  expect(reply.json<{ error: string }>().error).toContain(sentence);
});
