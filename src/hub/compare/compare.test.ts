import { fastify } from "fastify";
import { expect, test } from "vitest";
import type { Comparison } from "../../runs/compare/compare.ts";
import { normal } from "../../../test/fixtures/runs/compare.ts";
import { seeded } from "../../runs/compare/random.ts";
import { labelSet } from "../../model/labels.ts";
import { createEngine } from "../../query/engine.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import { fixtureRun } from "../../../test/fixtures/runs/runs.ts";
import type { RunFile } from "../../runs/run.ts";
import { addCompare } from "./routes.ts";

const start = 1_700_000_000_000;
const seconds = 900;

interface Watched {
  readonly uuid: string;
  readonly watts: number;
  readonly rate?: number;
  readonly power?: "gpu_power_watts" | "gpu_chip_power_watts";
  /** Correlation of consecutive readings. */
  readonly following?: number;
}

async function hub(gpus: readonly Watched[], runs: ReadonlyMap<string, RunFile> = new Map()) {
  const store = new MemoryStore();
  const engine = createEngine();
  const random = seeded(11);
  for (const { uuid, watts, rate, power = "gpu_power_watts", following = 0 } of gpus) {
    const put = (name: string, at: number, value: number, more = {}) =>
      store.append(labelSet({ __name__: name, uuid, host: "h", gpu: "0", ...more }), at, value);
    let state = normal(random);
    for (let second = 0; second <= seconds; second += 1) {
      const at = start + second * 1_000;
      state = following * state + Math.sqrt(1 - following ** 2) * normal(random);
      put(power, at, watts + 4 * state);
      put("gpu_temperature_celsius", at, 60 + normal(random), { sensor: "edge" });
      put("gpu_throttle_active", at, second < 90 ? 1 : 0, { reason: "power_cap" });
      if (rate !== undefined) put("images_per_second", at, rate);
      if (second % 10 === 0) put("gpu_info", at, 1, { model: `Card ${uuid}`, vendor: "amd" });
    }
  }
  const app = fastify();
  await addCompare(app, {
    history: {
      instant: (query, timeMs, options) => engine.instant(query, timeMs, store, options),
      range: (query, fromMs, toMs, stepMs, options) =>
        engine.range(query, fromMs, toMs, stepMs, store, options),
      select: (matchers, fromMs, toMs) => store.select(matchers, fromMs, toMs),
      labelNames: (sets, fromMs, toMs) => store.labelNames(sets, fromMs, toMs),
      labelValues: (name, sets, fromMs, toMs) => store.labelValues(name, sets, fromMs, toMs),
      series: (sets, fromMs, toMs) => store.series(sets, fromMs, toMs),
    },
    runs: { read: async (id) => runs.get(id) },
    nowMs: () => start + seconds * 1_000,
    version: "0.0.0-test",
  });
  const range = `start=${start / 1_000}&end=${start / 1_000 + seconds}`;
  const get = async (query: string) => app.inject(`/api/compare?${range}&${query}`);
  const ask = async (query: string) => (await get(query)).json<{ data: Comparison }>().data;
  return { get, ask };
}

const of = ({ metrics }: Comparison, key: string) => {
  const found = metrics.find((metric) => metric.key === key);
  if (found === undefined) throw new Error(`no ${key}`);
  return found;
};

test("two GPUs of the history are compared by stretches of the same time", async () => {
  const { ask } = await hub([
    { uuid: "a", watts: 230, rate: 50 },
    { uuid: "b", watts: 245, rate: 50 },
  ]);
  const found = await ask("gpu=a&gpu=b&work=images_per_second&unit=images");
  expect(found.paired).toBe(true);
  expect(found.subjects.map(({ name }) => name)).toEqual(["Card a", "Card b"]);
  expect(of(found, "power").differences[0]).toMatchObject({ verdict: "real" });
  expect(of(found, "power").differences[0]?.amount).toBeCloseTo(15, 0);
  expect(of(found, "edge").differences[0]).toMatchObject({ verdict: "undecided" });
  expect(found.statements.find(({ headline }) => headline)?.text).toMatch(/worse per watt/);
  expect(of(found, "throttle.power_cap").of[0]?.mean).toBeCloseTo(0.1, 2);
});

test("work is never derived from utilisation, nor taken from series of somebody else", async () => {
  const { ask } = await hub([
    { uuid: "a", watts: 230, rate: 50 },
    { uuid: "b", watts: 245 },
  ]);
  const why = async (query: string) =>
    of(await ask(`gpu=a&gpu=b${query}`), "perWatt").of.map((one) => one.why);
  expect(await why("")).toEqual(["no work counter set", "no work counter set"]);
  expect(await why("&work=images_per_second")).toEqual([
    undefined,
    "the work query has no result for this GPU",
  ]);
  expect(await why("&work=sum(images_per_second)")).toEqual(
    Array.from({ length: 2 }, () => "the work query's series have no uuid label"),
  );
  expect(await why("&work=nothing")).toEqual(
    Array.from({ length: 2 }, () => "the work query has no result in this range"),
  );
});

test("readings that follow each other closely decide nothing yet, and their means are shown", async () => {
  const { ask } = await hub([
    { uuid: "a", watts: 230, following: 0.995 },
    { uuid: "b", watts: 245, following: 0.995 },
  ]);
  const { differences, of: own } = of(await ask("gpu=a&gpu=b"), "power");
  expect(differences[0]).toMatchObject({ verdict: "undecided", needs: { of: "readings" } });
  expect(differences[0]?.why).toContain("follow each other closely");
  expect(own[0]?.mean).toBeGreaterThan(200);
});

test("a GPU beside itself in another time, and beside a GPU that reports only its chip's power", async () => {
  const { ask } = await hub([
    { uuid: "a", watts: 230 },
    { uuid: "c", watts: 190, power: "gpu_chip_power_watts" },
  ]);
  const then = await ask(`gpu=a&gpu=a@${new Date(start - 60_000).toISOString()}`);
  expect(then.paired).toBe(false);
  expect(then.subjects).toHaveLength(2);
  const kinds = await ask("gpu=a&gpu=c");
  expect(kinds.caveats.map(({ code }) => code)).toContain("power-kind");
  expect(of(kinds, "power").differences[0]).toMatchObject({ verdict: "not-compared" });
});

test("recorded runs are compared by their labels, in every format", async () => {
  const runs = new Map(
    [230, 230.5, 231, 245, 245.5, 246].map((watts, at) => [
      `run-${at}`,
      fixtureRun({ id: `run-${at}`, label: watts < 240 ? "a" : "b", watts }),
    ]),
  );
  const { ask, get } = await hub([], runs);
  const all = [...runs.keys()].map((id) => `run=${id}`).join("&");
  const found = await ask(all);
  expect(found.subjects.map((one) => [one.name, one.runs.length])).toEqual([
    ["a", 3],
    ["b", 3],
  ]);
  expect(of(found, "perWatt").differences[0]).toMatchObject({ verdict: "real" });
  expect((await get(`${all}&format=html`)).body).toContain("worse per watt");
  expect((await get(`${all}&format=markdown`)).body).toContain("## Real differences");
  expect((await get(`${all}&format=csv`)).body).toContain("perWatt,images_per_second_watt,b,3");
});

test.each([
  ["", 400, "1 to 8 subjects"],
  ["gpu=a@-soon", 400, "neither -DURATION nor a time"],
  ["host=h@soon", 400, "neither -DURATION nor a time"],
  ["gpu=a@elsewhere", 404, 'on "elsewhere"'],
  ["gpu=a&work=rate(", 400, "parse error"],
  ["run=none", 404, "no run"],
  ["gpu=a&format=pdf", 400, "must be json, html, markdown or csv"],
])("%j is answered with %i and what to do", async (query, status, says) => {
  const { get } = await hub([{ uuid: "a", watts: 100 }]);
  const answer = await get(query);
  expect(answer.statusCode).toBe(status);
  expect(answer.json<{ error: string }>().error).toContain(says);
});
