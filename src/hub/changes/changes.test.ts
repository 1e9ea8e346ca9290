import { fastify } from "fastify";
import * as v from "valibot";
import { expect, test } from "vitest";
import { simulateHistory } from "../../../test/fixtures/view/simulated-history.ts";
import { createEngine } from "../../query/engine.ts";
import {
  type ChangeReport,
  changeReportSchema,
  type SeriesChange,
} from "../../view/changes/report.ts";
import { addChanges } from "./routes.ts";

const models = Array.from({ length: 8 }, () => "H200");
const sick = simulateHistory(
  models,
  [
    { fault: "fan-failure", gpu: 1, at: "100m", for: "60m" },
    { fault: "pcie-downgrade", gpu: 2, at: "100m", for: "60m" },
    { fault: "gpu-lost", gpu: 3, at: "112m", for: "60m" },
    { fault: "xid", gpu: 4, at: "113m", for: "10m", amount: 48 },
  ],
  120,
);
const app = fastify();
addChanges(app, { history: sick.store, nowMs: () => sick.endMs });
const uuid = (gpu: number): string => sick.uuids[gpu] ?? "";
const at = (minute: number): string => String(sick.startMs / 1_000 + minute * 60);
const get = async (query: string) => app.inject(`/api/changes?${query}`);
const ask = async (subject: string, from: number, to: number): Promise<ChangeReport> => {
  const reply = await get(`${subject}&from=${at(from)}&to=${at(to)}`);
  return v.parse(changeReportSchema, reply.json());
};
const minuteOf = ({ sinceMs }: SeriesChange): number => (sinceMs - sick.startMs) / 60_000;
const titles = ({ changes }: ChangeReport): string[] =>
  changes.map(({ title, place }) => `${title}, ${place}`);

test("a GPU that lost its airflow: clock and temperatures lead, with values before and after, far from peers", async () => {
  const found = await ask(`gpu=${uuid(1)}`, 98, 118);
  expect(found).toMatchObject({ outcome: "changes", lookedAt: { gpus: 1, peers: 7 } });
  const leading = titles(found).slice(0, 4);
  expect(leading).toContain("Temperature (edge), GPU 1 of node-1");
  expect(leading).toContain("Clock (graphics), GPU 1 of node-1");
  // The clock of another domain moves together with it.
  expect(titles(found)).not.toContain("Clock (sm), GPU 1 of node-1");
  const heat = found.changes.find(({ title }) => title === "Temperature (edge)");
  expect(heat).toMatchObject({ kind: "moved", unit: "celsius", relation: "own" });
  expect(heat?.before).toBeLessThan(50);
  expect(heat?.after).toBeGreaterThan(70);
  expect(heat?.sigmas).toBeGreaterThan(8);
  expect(heat?.peers).toMatchObject({ count: 7 });
  expect(heat?.peers?.sigmas).toBeGreaterThan(5);
  expect(Math.abs((heat === undefined ? 0 : minuteOf(heat)) - 100)).toBeLessThanOrEqual(1);
});

test("the small chart has the values, the band of the peers and the time that departs", async () => {
  const { changes, fromMs, toMs, historyFromMs } = await ask(`gpu=${uuid(1)}`, 98, 118);
  const chart = changes.find(({ title }) => title === "Temperature (edge)")?.chart;
  const cells = ((toMs - historyFromMs) / (chart?.stepMs ?? 1)) | 0;
  expect(chart?.values).toHaveLength(cells);
  expect([chart?.peerLow.length, chart?.peerHigh.length]).toEqual([cells, cells]);
  for (const [index, low] of (chart?.peerLow ?? []).entries())
    expect(low ?? 0).toBeLessThanOrEqual(chart?.peerHigh[index] ?? 1_000);
  expect(chart?.anomalies.length).toBeGreaterThan(0);
  for (const span of chart?.anomalies ?? []) {
    expect(span.fromMs).toBeGreaterThanOrEqual(fromMs);
    expect(span.toMs).toBeLessThanOrEqual(toMs);
  }
});

test("a slower link is a change of level, its replays are events", async () => {
  const { changes } = await ask(`gpu=${uuid(2)}`, 98, 118);
  const link = changes.find(({ metric }) => metric === "gpu_pcie_link_generation");
  expect(link).toMatchObject({ kind: "moved", before: 5, after: 1 });
  const replays = changes.find(({ metric }) => metric === "gpu_pcie_replays_total");
  expect(replays).toMatchObject({ kind: "grew", before: 0, sigmas: null });
  expect(replays?.after).toBeGreaterThan(100);
});

test("a lost GPU is one line for all its readings, and its peers have none", async () => {
  const { changes } = await ask(`gpu=${uuid(3)}`, 108, 118);
  const [first] = changes;
  expect(first).toMatchObject({ kind: "stopped", before: null, after: null });
  expect(first?.series).toBeGreaterThan(20);
  expect(changes.filter(({ kind, series }) => kind === "stopped" && series > 1)).toHaveLength(1);
  expect(changes.find(({ metric }) => metric === "gpu_up")).toMatchObject({ before: 1, after: 0 });
});

test("an Xid counts from the event that began its counter, and the jobs around it are named", async () => {
  const { changes } = await ask(`gpu=${uuid(4)}`, 108, 118);
  expect(changes[0]).toMatchObject({
    kind: "grew",
    title: "Xid errors (48)",
    before: null,
    after: 1,
  });
  const jobs = changes.filter(({ metric }) => metric === "gpu_owner_info");
  expect(jobs.map(({ kind }) => kind).sort()).toEqual(["began", "stopped"]);
});

test("of a machine every GPU is looked at, and each change says where", async () => {
  const found = await ask(`host=${sick.host}`, 98, 118);
  expect(found.lookedAt.gpus).toBe(8);
  const places = new Set(found.changes.map(({ place }) => place));
  for (const gpu of [1, 2, 3, 4]) expect(places).toContain(`GPU ${gpu} of node-1`);
  expect(found.leftOut).toBeGreaterThan(0);
});

test("the PromQL of a change draws its series", async () => {
  const engine = createEngine();
  const { changes } = await ask(`gpu=${uuid(1)}`, 98, 118);
  expect(changes.length).toBeGreaterThan(5);
  for (const { promql, kind } of changes) {
    const { data } = await engine.instant(promql, sick.endMs - 60_000, sick.store);
    if (kind !== "stopped")
      expect([promql, data.type === "vector" ? data.samples.length : 0]).toEqual([promql, 1]);
  }
});

test("where nothing moved, the answer says so and against what", async () => {
  const calm = simulateHistory(["H200"], [], 90, 1, { gpus: "all", run: "training" });
  const own = fastify();
  addChanges(own, { history: calm.store, nowMs: () => calm.endMs });
  const range = `from=${calm.endMs / 1_000 - 900}&to=${calm.endMs / 1_000}`;
  const reply = await own.inject(`/api/changes?gpu=${calm.uuids[0]}&${range}`);
  const found = v.parse(changeReportSchema, reply.json());
  expect(found).toMatchObject({ outcome: "nothing_moved", changes: [], leftOut: 0 });
  expect(found.sentence).toMatch(
    /^Nothing moved on GPU 0 of node-1 \(NVIDIA H200\): \d+ series are as in the 45 min before\.$/,
  );
});

test("a range with nothing before it cannot be compared, and one without readings is empty", async () => {
  expect(await ask(`gpu=${uuid(6)}`, 0, 2)).toMatchObject({ outcome: "no_history", changes: [] });
  const found = await ask(`host=${sick.host}`, 119.5, 300);
  expect(found.toMs).toBe(sick.endMs);
});

test.each([
  ["", 400, "from"],
  [`from=${at(10)}&to=${at(20)}`, 400, "Name one of gpu=UUID"],
  [`gpu=a&job=b&from=${at(10)}&to=${at(20)}`, 400, "Name one of gpu=UUID"],
  [`gpu=a&from=${at(10)}`, 400, "to"],
  ["gpu=a&from=yesterday&to=today", 400, "from and to take seconds"],
  [`gpu=a&from=${at(20)}&to=${at(10)}`, 400, "The range is too short"],
  [`gpu=a&from=${at(-20_000)}&to=${at(10)}`, 400, "at most 7 days"],
  [`gpu=nobody&from=${at(10)}&to=${at(20)}`, 404, 'No GPU "nobody"'],
  [`alert=x&from=${at(10)}&to=${at(20)}`, 400, "alert"],
])("?%s is answered with %i and a sentence", async (query, status, sentence) => {
  const reply = await get(query);
  expect(reply.statusCode).toBe(status);
  expect(reply.json<{ error: string }>().error).toContain(sentence);
});
