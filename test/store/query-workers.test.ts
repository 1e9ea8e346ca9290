/** Large queries in worker threads: the same bytes and errors as in the main thread, and what happens when a worker is lost. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Histogram } from "../../src/model/histogram/histogram.ts";
import type { LabelSet } from "../../src/model/labels.ts";
import { createEngine, type QueryOptions, type QueryRequest } from "../../src/query/engine.ts";
import { QueryMemory } from "../../src/query/memory.ts";
import type { StoreOptions } from "../../src/storage/embedded/options.ts";
import type { Store } from "../../src/storage/embedded/store.ts";
import { readScript } from "../promql/script.ts";
import { Folders, named, nowMs, openAt, put } from "./folder.ts";
import { buildQueryWorker } from "./worker-file.ts";

const built = new Folders();
const folders = new Folders();
const stores: Store[] = [];
let file: string;

beforeAll(async () => {
  file = await buildQueryWorker(built.make());
});
afterAll(() => built.remove());
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  folders.remove();
});

async function open(dir: string, options: Partial<StoreOptions> = {}): Promise<Store> {
  const store = await openAt(dir, options);
  stores.push(store);
  return store;
}

const format = { limit: 0, stats: "none" } as const;

async function bodyOf(
  store: Store,
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<string> {
  const body = await store.answer(request, options, format);
  if (Buffer.isBuffer(body)) return body.toString();
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** The body, or the error with its kind. */
const answerOf = (store: Store, request: QueryRequest, options?: QueryOptions): Promise<string> =>
  bodyOf(store, request, options).catch((thrown: unknown) =>
    thrown instanceof Error && "kind" in thrown
      ? `${String(thrown.kind)}: ${thrown.message}`
      : String(thrown),
  );

/** The same samples in two stores, one of which evaluates everything in workers. */
async function openPair(options: Partial<StoreOptions> = {}): Promise<readonly [Store, Store]> {
  const here = await open(folders.make(), options);
  const inWorkers = await open(folders.make(), {
    ...options,
    queryWorkers: { count: 2, file, thresholdMs: 0 },
  });
  return [here, inWorkers];
}

interface Point {
  readonly timeMs: number;
  readonly value: number;
  readonly isStale: boolean;
  readonly histogram?: Histogram | undefined;
}

function append(store: Store, labels: LabelSet, points: readonly Point[]): void {
  const appender = store.appender();
  for (const { timeMs, value, isStale, histogram } of points) {
    const ref = appender.ref(labels);
    if (histogram !== undefined) appender.addHistogram(ref, timeMs, histogram);
    else if (isStale) appender.addStale(ref, timeMs);
    else appender.add(ref, timeMs, value);
  }
  appender.commit();
}

const scripts = new URL("../promql/scripts/", import.meta.url);

test.each(readdirSync(scripts))("every case of %s has the same bytes", async (name) => {
  let pair = await openPair();
  let [compared, offloaded] = [0, 0];
  for (const command of readScript(readFileSync(new URL(name, scripts), "utf8"))) {
    if (command.kind === "clear") pair = await openPair();
    else if (command.kind === "load") {
      for (const { labels, points } of command.series)
        for (const store of pair)
          append(
            store,
            labels,
            points.flatMap((point, index) =>
              point === undefined
                ? []
                : [
                    {
                      timeMs: index * command.gapMs,
                      value: point.value,
                      isStale: point.stale,
                      histogram: point.histogram,
                    },
                  ],
            ),
          );
    } else {
      const { query, startMs, endMs, stepMs } = command;
      const request = { query, startMs, endMs: stepMs === 0 ? startMs : endMs, stepMs };
      const [expected, got] = [await answerOf(pair[0], request), await answerOf(pair[1], request)];
      expect(got, query).toBe(expected);
      compared++;
      offloaded = Math.max(offloaded, pair[1].stats().queryWorkers.queries);
    }
  }
  expect(compared).toBeGreaterThan(5);
  // info() selects while it is evaluated, which only the main thread can.
  expect(offloaded > 5).toBe(name !== "info.test");
});

const second = 1_000;
const minute = 60_000;

/** Blocks with a deletion, late samples, stale markers and NaN; an open head; series that end. */
async function fill(store: Store): Promise<void> {
  const from = nowMs - 6 * 60 * minute;
  const series = Array.from({ length: 40 }, (_, i) =>
    named(i % 2 === 0 ? "power" : "energy_total", { gpu: String(i), host: `node-${i % 4}` }),
  );
  const write = (startMs: number, samples: number, factor = 1): void => {
    for (let n = 0; n < samples; n++)
      put(
        store,
        startMs + n * 15 * second,
        series.map((labels, i) => [
          labels,
          i === 3 && n % 7 === 0 ? NaN : (n * (i + 1)) % (97 * factor),
        ]),
      );
  };
  write(from, 300);
  await store.seal();
  await store.delete([[{ name: "gpu", op: "=", value: "5" }]], from + minute, from + 20 * minute);
  write(from + 300 * 15 * second, 300);
  await store.seal();
  write(from + 600 * 15 * second, 400, 1.37);
  const late = store.appender();
  for (let n = 0; n < 90; n++)
    late.add(late.ref(series[7] as LabelSet), from + (n * 50 + 7) * second, n / 3);
  late.commit();
  append(store, series[9] as LabelSet, [
    { timeMs: from + 1_000 * 15 * second, value: 0, isStale: true },
  ]);
}

const range = { startMs: nowMs - 6 * 60 * minute, endMs: nowMs, stepMs: 30 * second };
const queries = [
  '{host=~"node-.*"}',
  "quantile_over_time(0.9, power[10m])",
  "sum by (host) (rate(energy_total[5m]))",
  'max_over_time(power{gpu="7"}[1m]) or energy_total{gpu=~"5|7"}',
  "topk(3, power) + on (gpu) group_left () power offset 5m",
  "max_over_time(avg by (host) (power)[30m:1m])",
  "absent(nothing)",
  'label_replace(power, "name", "$1", "gpu", "(.*)")',
  "nothing",
];

test("head, blocks, late samples and deletions are read as in the main thread", async () => {
  const [here, inWorkers] = await openPair();
  await Promise.all([fill(here), fill(inWorkers)]);
  for (const query of queries)
    for (const times of [range, { startMs: range.endMs, endMs: range.endMs, stepMs: 0 }]) {
      const request = { query, ...times };
      expect(await answerOf(inWorkers, request), query).toBe(await answerOf(here, request));
    }
  expect(inWorkers.stats().queryWorkers).toMatchObject({ queries: queries.length * 2, lost: 0 });
});

test("a medium query leaves the main thread while others run, once a worker has started", async () => {
  const store = await open(folders.make(), { queryWorkers: { count: 1, file } });
  await fill(store);
  const medium = { query: "power", ...range };
  const alone = await answerOf(store, medium);
  expect(store.stats().queryWorkers).toEqual({ running: 0, queries: 0, lost: 0 });
  const small = { ...medium, startMs: range.endMs - minute };
  // The first of these start the worker and do not wait for it.
  while (store.stats().queryWorkers.queries === 0)
    expect(await Promise.all([answerOf(store, medium), answerOf(store, medium)])).toEqual([
      alone,
      alone,
    ]);
  const { queries: before } = store.stats().queryWorkers;
  await Promise.all([answerOf(store, small), answerOf(store, small)]);
  await answerOf(store, medium);
  expect(store.stats().queryWorkers.queries).toBe(before);
});

test("rollups, also where a rule has removed the samples of some series, are read as in the main thread", async () => {
  const hour = 60 * minute;
  const pair = await openPair({
    rollupRetentionMs: 30 * 24 * hour,
    rollEveryMs: hour,
    removalGraceMs: 0,
    retentionNowMs: () => nowMs,
    retentionRules: [
      {
        match: "energy_total",
        matchers: [{ name: "__name__", op: "=", value: "energy_total" }],
        retentionMs: 2 * hour,
        rollupRetentionMs: 24 * hour,
      },
    ],
  });
  for (const store of pair) {
    await fill(store);
    await store.seal();
    for (let round = 0; round < 12; round++) await store.maintain();
    expect(store.stats().rollups.rolledToMs).toBeGreaterThan(nowMs - 4 * hour);
    expect(store.stats().rules()[0]?.removedBeforeMs).toBeGreaterThan(nowMs - 6 * hour);
  }
  const [here, inWorkers] = pair;
  const endMs = Math.floor(nowMs / hour) * hour;
  const hours = { startMs: endMs - 5 * hour, endMs, stepMs: hour };
  let fromRollups = 0;
  for (const query of [
    ...queries,
    "max_over_time(power[1h])",
    "increase(energy_total[1h])",
    'sum by (host) (count_over_time({host=~"node-.*"}[1h]))',
    "energy_total - energy_total offset 1h",
  ])
    for (const times of [range, hours, { startMs: endMs, endMs, stepMs: 0 }]) {
      const request = { query, ...times };
      const expected = await answerOf(here, request);
      expect(await answerOf(inWorkers, request), query).toBe(expected);
      if (expected.includes("rollups answered")) fromRollups++;
    }
  expect(fromRollups).toBeGreaterThan(10);
  expect(inWorkers.stats().queryWorkers.lost).toBe(0);
});

test("queries side by side see the samples of their start while others are appended and sealed", async () => {
  const [here, inWorkers] = await openPair();
  await Promise.all([fill(here), fill(inWorkers)]);
  const expected = await Promise.all(queries.map((query) => answerOf(here, { query, ...range })));
  const rounds = Array.from({ length: 4 }, () =>
    Promise.all(queries.map((query) => answerOf(inWorkers, { query, ...range }))),
  );
  for (let n = 1; n < 50; n++)
    put(inWorkers, nowMs + n * second, [[named("power", { gpu: "0" }), n]]);
  await inWorkers.seal();
  await inWorkers.maintain();
  for (const round of await Promise.all(rounds)) expect(round).toEqual(expected);
});

test("limits, statistics and truncation are those of the main thread", async () => {
  const engine = (): { engine: ReturnType<typeof createEngine>; memory: QueryMemory } => {
    const memory = new QueryMemory({ totalBytes: 4e6, perClientBytes: 4e6, perQueryBytes: 4e5 });
    return { engine: createEngine({ memory, maxSamples: 20_000 }), memory };
  };
  const [own, other] = [engine(), engine()];
  const here = await open(folders.make(), { engine: own.engine });
  const inWorkers = await open(folders.make(), {
    engine: other.engine,
    queryWorkers: { count: 1, file, thresholdMs: 0 },
  });
  await Promise.all([fill(here), fill(inWorkers)]);
  const requests: QueryRequest[] = [
    { query: '{host=~".+"}', ...range, stepMs: 10 * minute },
    { query: '{host=~".+"}', ...range },
    { query: "power", ...range, stepMs: 15 * second },
    { query: "power + on (host) power", ...range, stepMs: 10 * minute },
  ];
  for (const request of requests)
    expect(await answerOf(inWorkers, request)).toBe(await answerOf(here, request));
  expect(await answerOf(inWorkers, requests[1] as QueryRequest)).toMatch(
    /execution: query would need/,
  );
  expect(other.memory.bytes).toBe(0);
  expect(other.memory.refused.tooLarge).toBe(own.memory.refused.tooLarge + 1);
});

test("a canceled query ends in the worker, and gives its memory back", async () => {
  const memory = new QueryMemory({ totalBytes: 1e9, perClientBytes: 1e9, perQueryBytes: 1e9 });
  const store = await open(folders.make(), {
    engine: createEngine({ memory }),
    queryWorkers: { count: 1, file, thresholdMs: 0 },
  });
  await fill(store);
  const heavy = { query: "quantile_over_time(0.9, power[5h])", ...range, stepMs: 2 * second };
  const abort = new AbortController();
  const reservation = memory.open("client");
  const answer = answerOf(store, heavy, { signal: abort.signal, reservation });
  setTimeout(() => {
    abort.abort();
    reservation.close();
  }, 50);
  expect(await answer).toBe("canceled: query was canceled in expression evaluation");
  expect(memory.bytes).toBe(0);
  const late = await answerOf(store, heavy, { timeoutMs: 40 });
  expect(late).toBe("timeout: query timed out in expression evaluation");
  expect(await answerOf(store, { query: "sum(power)", ...range })).toMatch(/^{"status":"success"/);
});

test("a worker that is lost fails its query with what to do, and the next query gets another", async () => {
  const dying = path.join(folders.make(), "dying.mjs");
  writeFileSync(
    dying,
    `import { parentPort, workerData } from "node:worker_threads";
     parentPort.once("message", () => { throw new Error("heap is full"); });`,
  );
  const memory = new QueryMemory({ totalBytes: 1e9, perClientBytes: 1e9, perQueryBytes: 1e9 });
  const store = await open(folders.make(), {
    engine: createEngine({ memory }),
    queryWorkers: { count: 1, file: dying, thresholdMs: 0 },
  });
  await fill(store);
  const request = { query: "power", ...range };
  const lost =
    "execution: the query worker was lost (heap is full): try again, or narrow the selector, shorten the range or enlarge the step";
  expect(await answerOf(store, request)).toBe(lost);
  expect(await answerOf(store, request)).toBe(lost);
  expect(store.stats().queryWorkers).toEqual({ running: 0, queries: 2, lost: 2 });
  expect(memory.bytes).toBe(0);
});

test("a page that a worker cannot read is reported as in the main thread", async () => {
  const dir = folders.make();
  const before = await openAt(dir);
  await fill(before);
  await before.close();
  const [block = ""] = readdirSync(path.join(dir, "blocks"));
  const damaged = path.join(dir, "blocks", block);
  const bytes = readFileSync(damaged);
  bytes.fill(0xff, 100, 140);
  writeFileSync(damaged, bytes);
  const store = await open(dir, { queryWorkers: { count: 1, file, thresholdMs: 0 } });
  const request = { query: 'count({host=~".+"})', ...range };
  expect(await answerOf(store, request)).toMatch(
    /"warnings":\["page \d+ of block 1 cannot be read/,
  );
  expect(store.stats().unreadable).toBeGreaterThan(0);
  expect(await answerOf(store, request)).toMatch(/"warnings":\["page/);
});

test("a response of many parts waits for its reader, who may leave", async () => {
  const store = await open(folders.make(), { queryWorkers: { count: 1, file, thresholdMs: 0 } });
  await fill(store);
  const request = { query: '{host=~".+"}', ...range, stepMs: 2 * second };
  const body = await store.answer(request, {}, format);
  if (Buffer.isBuffer(body)) throw new Error("one part");
  for await (const part of body) {
    expect(part.toString("latin1", 0, 20)).toBe('{"status":"success",');
    break;
  }
  expect((await bodyOf(store, request)).length).toBeGreaterThan(6_000_000);
});
