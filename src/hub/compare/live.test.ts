import { fastify } from "fastify";
import { expect, test } from "vitest";
import type { Comparison } from "../../runs/compare/compare.ts";
import { normal } from "../../../test/fixtures/runs/compare.ts";
import { seeded } from "../../runs/compare/random.ts";
import { summarizeComparison } from "../../runs/compare/words.ts";
import { labelSet } from "../../model/labels.ts";
import { createEngine } from "../../query/engine.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import { addCompare } from "./routes.ts";

const start = 1_700_000_000_000;
const GIB = 1_073_741_824;

interface SeriesSpec {
  readonly uuid: string;
  readonly metric?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Seconds from `start`. */
  readonly from?: number;
  readonly to?: number;
  readonly every?: number;
  /** A value per time, "stale" for a staleness marker, undefined for no sample. */
  readonly value: number | ((second: number) => number | "stale" | undefined);
}

async function hub(series: readonly SeriesSpec[]) {
  const store = new MemoryStore();
  const engine = createEngine();
  const uuids = new Set(series.map(({ uuid }) => uuid));
  for (const { uuid, metric = "gpu_power_watts", labels = {}, value, ...time } of series)
    for (let at = time.from ?? 0; at <= (time.to ?? 300); at += time.every ?? 1) {
      const sample = typeof value === "number" ? value : value(at);
      if (sample === undefined) continue;
      store.append(
        labelSet({ __name__: metric, uuid, host: "node-1", gpu: "0", ...labels }),
        start + at * 1_000,
        sample === "stale" ? 0 : sample,
        sample === "stale",
      );
    }
  for (const uuid of uuids)
    for (let at = 0; at <= 3_600; at += 10)
      store.append(
        labelSet({ __name__: "gpu_info", uuid, host: "node-1", model: `Card ${uuid}` }),
        start + at * 1_000,
        1,
      );
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
    nowMs: () => start + 3_600_000,
    version: "0.0.0-test",
  });
  const get = async (query: string, from = 0, to = 300) =>
    app.inject(`/api/compare?start=${start / 1_000 + from}&end=${start / 1_000 + to}&${query}`);
  const compare = async (query: string, from = 0, to = 300) =>
    (await get(query, from, to)).json<{ data: Comparison }>().data;
  return { get, compare };
}

const metricOf = ({ metrics }: Comparison, key: string) => {
  const found = metrics.find((metric) => metric.key === key);
  if (found === undefined) throw new Error(`no ${key}`);
  return found;
};
const verdictOf = (comparison: Comparison, key: string, at = 0) =>
  metricOf(comparison, key).differences[at]?.verdict;
const readingsOf = (comparison: Comparison, key: string) =>
  metricOf(comparison, key).of.map(({ distributions }) => distributions[0]?.count);
const noisy = (mean: number, spread: number, seed: number) => {
  const random = seeded(seed);
  return () => mean + spread * normal(random);
};
const work = "work=rate(images_total[1m])&unit=images";

test("constant readings that differ by more than the resolution are a real difference, equal ones are none", async () => {
  const pair = (metric: string, one: number, other: number, labels = {}): SeriesSpec[] => [
    { uuid: "a", metric, labels, value: one },
    { uuid: "b", metric, labels, value: other },
  ];
  const { compare } = await hub([
    ...pair("gpu_power_watts", 230.1, 215.3),
    ...pair("gpu_memory_used_bytes", 10.1 * GIB, 12.3 * GIB),
    ...pair("gpu_temperature_celsius", 61.7, 61.7, { sensor: "edge" }),
    ...pair("gpu_temperature_celsius", 61.7, 61.75, { sensor: "hotspot" }),
    ...pair("gpu_utilization_ratio", 0.31, 0.33),
    ...pair("gpu_clock_hertz", 1_980_000_000, 1_980_000_000, { domain: "graphics" }),
  ]);
  const found = await compare("gpu=a&gpu=b");
  expect(
    ["power", "memory", "utilization", "edge", "hotspot", "clock"].map((key) => [
      key,
      verdictOf(found, key),
    ]),
  ).toEqual([
    ["power", "real"],
    ["memory", "real"],
    ["utilization", "real"],
    ["edge", "same"],
    ["hotspot", "same"],
    ["clock", "same"],
  ]);
  expect(readingsOf(found, "power")).toEqual([301, 301]);
  expect(metricOf(found, "power").differences[0]?.amount).toBeCloseTo(-14.8, 6);
});

test.each([
  ["two ranges of one GPU", "gpu=a&gpu=a@-5m"],
  ["two GPUs at the same time", "gpu=a&gpu=b"],
])("constants are decided for %s", async (_, query) => {
  const { compare } = await hub([
    { uuid: "a", value: (at) => (at < 300 ? 200.3 : 220.7), to: 600 },
    { uuid: "b", value: 180.1, to: 600 },
  ]);
  expect(verdictOf(await compare(query, 300, 599), "power")).toBe("real");
});

test("readings that drift far less than the two are apart decide, and those that drift as far do not", async () => {
  const drifting = (from: number, watts: number) => (at: number) => from + (watts * at) / 300;
  const { compare } = await hub([
    { uuid: "a", value: drifting(260.7, 0.4) },
    { uuid: "b", value: drifting(243, 0.2) },
    { uuid: "c", value: drifting(250, 12) },
  ]);
  const found = await compare("gpu=a&gpu=b&gpu=c");
  const [near, far] = metricOf(found, "power").differences;
  expect(near).toMatchObject({ verdict: "real" });
  expect([near?.low, near?.high].map((one) => Math.round(one ?? 0))).toEqual([-18, -17]);
  expect(far).toMatchObject({ verdict: "undecided" });
});

test("a change inside the range is likely, with when and how much, never noise", async () => {
  const { compare } = await hub([
    { uuid: "a", value: noisy(430, 3, 1) },
    { uuid: "b", value: (at) => (at < 150 ? noisy(430, 3, at)() : noisy(842, 3, at)()) },
    { uuid: "c", value: noisy(431, 3, 3) },
  ]);
  const found = await compare("gpu=a&gpu=b&gpu=c");
  const [changed, close] = metricOf(found, "power").differences;
  expect(changed).toMatchObject({ verdict: "likely" });
  expect(changed?.steady?.fromMs).toBe(start + 150_000);
  expect(changed?.steady?.amount).toBeCloseTo(412, -1);
  expect(close?.verdict).not.toBe("likely");
  expect(
    summarizeComparison(
      found.subjects,
      found.metrics.filter(({ key }) => key === "power"),
    ),
  ).toEqual({
    grade: "Likely",
    text: expect.stringMatching(
      /^Power of Card b and Card a, 63\d\.\d\sW against 43\d\.\d\sW; \+41\d\.\d\sW from /,
    ) as string,
  });
});

test("a change inside one of two times is likely from its onset on, and undecided where both moved", async () => {
  const jump = (from: number, to: number) => (at: number) =>
    noisy(at % 300 < 150 ? from : to, 3, at)();
  const { compare } = await hub([
    { uuid: "a", value: (at) => (at < 300 ? noisy(636, 3, at)() : jump(636, 430)(at)), to: 600 },
    { uuid: "b", value: (at) => (at < 300 ? jump(300, 636)(at) : jump(636, 430)(at)), to: 600 },
  ]);
  const [changed] = metricOf(await compare("gpu=a@-5m&gpu=a", 300, 599), "power").differences;
  expect(changed).toMatchObject({ verdict: "likely" });
  expect(changed?.steady?.amount).toBeCloseTo(-206, -1);
  expect(changed?.steady?.fromMs).toBeGreaterThanOrEqual(start + 440_000);
  expect(verdictOf(await compare("gpu=b@-5m&gpu=b", 300, 599), "power")).not.toBe("likely");
});

test("readings are samples that were taken: seven in 91 s are seven, and decide nothing", async () => {
  const { compare } = await hub([
    { uuid: "a", value: noisy(230, 4, 1), every: 15, to: 90 },
    { uuid: "b", value: noisy(260, 4, 2), every: 15, to: 90 },
  ]);
  const found = await compare("gpu=a&gpu=b", -1, 90);
  expect(readingsOf(found, "power")).toEqual([7, 7]);
  const [difference] = metricOf(found, "power").differences;
  expect(difference).toMatchObject({ verdict: "undecided", needs: { more: 33, of: "readings" } });
  expect(difference?.amount).toBeCloseTo(30, -1);
  expect(found.statements.find(({ metric }) => metric === "power")?.text).toMatch(
    /cannot be decided yet.*33 more readings/,
  );
});

test("readings of a long range are counted as samples, not as the points they are condensed to", async () => {
  const { compare } = await hub([
    { uuid: "a", value: noisy(230, 4, 1), every: 5, to: 28_800 },
    { uuid: "b", value: noisy(245, 4, 2), every: 15, to: 28_800 },
  ]);
  const found = await compare("gpu=a&gpu=b", 0, 28_800);
  expect(readingsOf(found, "power")).toEqual([5_760, 1_920]);
  expect(verdictOf(found, "power")).toBe("real");
  expect(found.caveats.map(({ code }) => code)).toContain("sampling");
});

test("what is too close to call needs a number of readings more, and is not called noise", async () => {
  const { compare } = await hub([
    { uuid: "a", value: noisy(230, 4, 3) },
    { uuid: "b", value: noisy(230.2, 4, 4) },
  ]);
  const [difference] = metricOf(await compare("gpu=a&gpu=b"), "power").differences;
  expect(difference?.verdict).toBe("undecided");
  expect(difference?.needs?.more).toBeGreaterThan(0);
  expect(difference?.low).toBeLessThan(0);
});

test.each([
  ["one sample of each", [0], [0]],
  ["one sample against many", [0], undefined],
  ["two samples of each", [0, 60], [0, 60]],
])("%s is not decided", async (_, one, other) => {
  const at = (times: readonly number[] | undefined, watts: number) => (second: number) =>
    times === undefined || times.includes(second) ? watts : undefined;
  const { compare } = await hub([
    { uuid: "a", value: at(one, 100) },
    { uuid: "b", value: at(other, 300) },
  ]);
  const found = await compare("gpu=a&gpu=b", -1, 300);
  expect(verdictOf(found, "power")).toBe("undecided");
  expect(readingsOf(found, "power")[0]).toBe(one.length);
  expect(metricOf(found, "power").of[0]?.mean).toBe(100);
});

test("a GPU without a sample in the range is not compared", async () => {
  const { compare } = await hub([
    { uuid: "a", value: 100 },
    { uuid: "b", value: 300, from: 400, to: 500 },
  ]);
  const found = await compare("gpu=a&gpu=b");
  expect(verdictOf(found, "power")).toBe("not-compared");
  expect(metricOf(found, "power").of[1]?.mean).toBeUndefined();
});

test("a range that begins before the data is compared where both have readings, and says so", async () => {
  const { compare } = await hub([
    { uuid: "a", value: (at) => (at < 2_700 ? 40 : 229 + (at % 3)), to: 3_600 },
    { uuid: "b", value: (at) => 244 + (at % 3), from: 3_000, to: 3_600 },
  ]);
  const found = await compare("gpu=a&gpu=b", 0, 3_600);
  expect(metricOf(found, "power").of.map(({ mean }) => Math.round(mean ?? 0))).toEqual([230, 245]);
  expect(verdictOf(found, "power")).toBe("real");
  expect(found.caveats.find(({ code }) => code === "covered")?.sentence).toMatch(
    /10\smin of the 60\smin/,
  );
});

test("a gap leaves out the time it takes and not the verdict", async () => {
  const gap = (at: number) => at > 400 && at < 700;
  const { compare } = await hub([
    { uuid: "a", value: (at) => (gap(at) ? undefined : 229 + (at % 3)), to: 1_200 },
    {
      uuid: "b",
      value: (at) => (at === 401 ? "stale" : gap(at) ? undefined : 244 + (at % 3)),
      to: 1_200,
    },
  ]);
  const found = await compare("gpu=a&gpu=b", 0, 1_200);
  expect(verdictOf(found, "power")).toBe("real");
  expect(metricOf(found, "power").of[0]?.mean).toBeCloseTo(230, 1);
  expect(readingsOf(found, "power")).toEqual([902, 902]);
});

test.each<[string, SeriesSpec["value"], Partial<SeriesSpec>, number, number]>([
  ["begins in the range", (at) => (at - 260) * 45, { from: 260 }, 0, 300],
  ["begins with the first sample", (at) => 1_000 + at * 45, { from: 262 }, 0, 300],
  ["has been running for long", (at) => 1e6 + at * 45, {}, 120, 300],
  ["is scraped every 15 s", (at) => at * 45, { from: 240, every: 15 }, 0, 300],
  ["is reset in the range", (at) => (at < 200 ? 9_000 + at * 45 : (at - 200) * 45), {}, 0, 300],
  ["begins to rise where the range begins", (at) => Math.max(0, at - 150) * 45, {}, 150, 300],
  [
    "was down for a while",
    (at) =>
      at === 101 ? "stale" : at > 100 && at < 220 ? undefined : (at < 150 ? at : at - 220) * 45,
    {},
    0,
    300,
  ],
  ["counts in batches of 315", (at) => Math.floor(at / 7) * 315, { to: 280 }, 0, 280],
])(
  "work is the increase over the covered time: a counter that %s",
  async (_, value, time, from, to) => {
    const { compare } = await hub([
      { uuid: "a", value: 150 },
      { uuid: "a", metric: "images_total", value, ...time },
    ]);
    for (const query of [
      work,
      "work=sum%20by%20(uuid)%20(irate(images_total[5m]))",
      "work=increase(images_total[2m])/120",
    ]) {
      const found = await compare(`gpu=a&${query}`, from, to);
      expect(metricOf(found, "throughput").of[0]?.mean).toBeCloseTo(45, 0);
      expect(metricOf(found, "perWatt").of[0]?.mean).toBeCloseTo(0.3, 2);
    }
  },
);

test("work of a host is the sum over its GPUs, joined with other series where the query does", async () => {
  const { compare } = await hub([
    { uuid: "a", value: 150 },
    { uuid: "b", value: 150 },
    { uuid: "a", metric: "images_total", value: (at) => at * 20 },
    { uuid: "b", metric: "images_total", value: (at) => at * 25 },
    { uuid: "a", metric: "images_factor", value: 2, every: 10 },
    { uuid: "b", metric: "images_factor", value: 2, every: 10 },
  ]);
  const rate = async (query: string) =>
    metricOf(await compare(`host=node-1&work=${encodeURIComponent(query)}`), "throughput").of[0]
      ?.mean;
  expect(await rate("sum by (host) (rate(images_total[1m]))")).toBeCloseTo(45, 6);
  expect(
    await rate("sum by (host) (rate(images_total[1m]) * on (uuid, host) images_factor)"),
  ).toBeCloseTo(90, 6);
});

test("the simulator's own work counter is used where no work query is given", async () => {
  const counter = (uuid: string, rate: number): SeriesSpec => ({
    uuid,
    metric: "gpu_work_units_total",
    value: (at) => at * rate,
  });
  const { compare } = await hub([
    { uuid: "a", value: 150 },
    { uuid: "b", value: 100 },
    { uuid: "c", value: 100 },
    counter("a", 45),
    counter("b", 45),
  ]);
  const found = await compare("gpu=a&gpu=b");
  expect(metricOf(found, "perWatt").of.map(({ mean }) => Number(mean?.toFixed(6)))).toEqual([
    0.3, 0.45,
  ]);
  expect(verdictOf(found, "perWatt")).toBe("real");
  expect(metricOf(found, "perWatt").headline).toBe(true);
  expect(metricOf(await compare("gpu=a&gpu=c"), "perWatt").of[1]?.why).toBe("no work counter set");
});

test.each([
  ["gpu=a&gpu=UNKNOWN", /no GPU "UNKNOWN".*a \(Card a on node-1\)/],
  ["host=nowhere", /no host "nowhere".*node-1/],
])("%s is not found, and what is known is listed", async (query, says) => {
  const { get } = await hub([{ uuid: "a", value: 100 }]);
  const answer = await get(query);
  expect(answer.statusCode).toBe(404);
  expect(answer.json<{ error: string }>().error).toMatch(says);
  // Known, but silent in this range: missing figures are not a client error.
  expect((await get("gpu=a", 5_000, 5_300)).statusCode).toBe(200);
});

test("GPUs of two hosts with one uuid are compared apart, and a uuid alone says whose it took", async () => {
  const { compare } = await hub([
    { uuid: "amd-0000:03:00.0", labels: { host: "ws-1" }, value: 300 },
    { uuid: "amd-0000:03:00.0", labels: { host: "ws-2" }, value: 20 },
  ]);
  const both = await compare("gpu=amd-0000:03:00.0@ws-1&gpu=amd-0000:03:00.0@ws-2");
  expect(metricOf(both, "power").of.map(({ mean }) => mean)).toEqual([300, 20]);
  const alone = await compare("gpu=amd-0000:03:00.0");
  expect(metricOf(alone, "power").of.map(({ mean }) => mean)).toEqual([300]);
  expect(JSON.stringify(alone)).toContain("Name another with UUID@HOST");
});
