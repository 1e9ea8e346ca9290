/** The hub beside Prometheus and VictoriaMetrics: the same requests into each, the same queries to each, in turn. */
import { type Engine, type EngineName, ingest, peakBytes } from "../hub-engines.ts";
import { encodeFleet } from "../hub-data.ts";
import { ask, questions } from "../hub-queries.ts";
import { traceRequests } from "../trace-requests.ts";
import { middle } from "./band.ts";
import { cpuSeconds, residentBytes } from "./cost.ts";
import { both, endsNow, type Figures, fill, note, withEngines } from "./engines.ts";
import type { Area, Context } from "./measurement.ts";

const emptyNode =
  "an empty hub takes 87 MiB once its practice queries are done, of which Node's program is 41 (VictoriaMetrics 22, Prometheus 41), and ours grows less with more: see the many series. 15 s after the last request the hub of 64 GPUs is back at 100 MiB.";
const oneThread =
  "on fewer than four cores the hub reads HTTP, decodes and appends on one thread; VictoriaMetrics and Prometheus do all of it on every core. By processor time see the line below. A plain Node HTTP server that answers the same requests and stores nothing takes 6.2 million samples a second and 0.09 s a million. With 3,000 instants instead of 1,000 the hub takes 0.66 s a million and VictoriaMetrics 0.68: V8 compiles the hub's code during the first two million samples.";
const startLater =
  "measured until the first query is answered. By profile Node itself takes 45 ms of 256, reading and running our 220 files 110 (26 of them V8's deserialization of compiled code, 20 Node's own modules), opening the store 25, Fastify with some 250 routes 30, small collections 30. A plain Node HTTP server answers after 59 ms (`node -e`, median of ten); the others are compiled already.";

export const store: Area = {
  name: "store",
  title: "The hub beside Prometheus and VictoriaMetrics",
  about:
    "64 GPUs × 40 series × 1,000 instants at 5 s by remote-write (four senders), then 13 queries over HTTP, six times each and the first not counted, VictoriaMetrics with `nocache=1`; 500 GPUs × 40 series × 120 instants for many series; the recorded trace of an H200 for bytes. Engines start empty in every round; samples a second and processor time leave out the first quarter of the samples.",
  more: "npm run bench:store",
  measurements: [
    ...both("store.trace", "bytes a sample on disk, trace of an H200", "bytes", "bytes"),
    ...both("store.bytes", "bytes a sample on disk, 64 GPUs", "bytes", "bytes"),
    ...both("store.rate", "samples ingested a second", "time", "M", {
      better: "higher",
      behind: oneThread,
    }),
    ...both("store.cpu", "processor per million samples ingested", "processor", "s", {
      behind:
        "HTTP, decoding and the checks of a request run in JavaScript; the others are compiled Go.",
    }),
    ...both("store.memory", "resident memory after ingest", "memory", "MiB", { behind: emptyNode }),
    ...both("store.instant", "instant queries, geometric mean", "time", "ms", {
      behind:
        "six runs are few for code that is compiled as it runs: after 150 more an instant query took half of it.",
    }),
    ...both("store.range", "range queries, geometric mean", "time", "ms", {
      behind: "one thread decodes and evaluates a query.",
    }),
    ...both("store.query-cpu", "processor of all these queries", "processor", "s", {
      behind: "compiling is in it: in a run this short every query runs only six times.",
    }),
    ...both("store.peak", "resident memory, most of all", "memory", "MiB", { behind: emptyNode }),
    ...both("store.start", "answers again after a kill", "time", "ms", { behind: startLater }),
    ...both("store.many.bytes", "bytes a sample on disk, 20,000 series", "bytes", "bytes"),
    ...both("store.many.memory", "resident memory, 20,000 series", "memory", "MiB", {
      behind: emptyNode,
    }),
    ...both("store.many.cpu", "processor per million samples, 20,000 series", "processor", "s", {
      behind:
        "HTTP, decoding and the checks of a request run in JavaScript; the others are compiled Go.",
    }),
  ],
  measure: async (context) => {
    const { full, progress } = context;
    progress("the trace of an H200");
    await trace(context);
    const [rounds, steps, gpus] = full ? [5, 4_320, 2_000] : [3, 1_000, 500];
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1} of ${rounds}: 64 GPUs`);
      await fleet(context, round, steps);
      progress(`round ${round + 1} of ${rounds}: ${gpus} GPUs`);
      await many(context, round, gpus);
    }
  },
};

async function trace(context: Context): Promise<void> {
  const { samples, bodies } = traceRequests();
  await withEngines(context, 0, async (engines, figures) => {
    for (const engine of engines) {
      await ingest(engine, [bodies]);
      note(figures, "store.trace", engine, (await engine.settle()) / samples);
    }
  });
}

async function fleet(context: Context, round: number, steps: number): Promise<void> {
  const stepMs = 5_000;
  const startMs = endsNow() - (steps - 1) * stepMs;
  const requests = encodeFleet({ gpus: 64, steps, stepMs, startMs }, 4);
  await withEngines(context, round, async (engines, figures) => {
    const taken = await fill(engines, requests);
    for (const engine of engines) {
      note(figures, "store.rate", engine, taken.get(engine.name)?.rate ?? Number.NaN);
      note(figures, "store.cpu", engine, taken.get(engine.name)?.cpu ?? Number.NaN);
      note(figures, "store.memory", engine, residentBytes(engine.pid) / 2 ** 20);
      note(figures, "store.bytes", engine, (await engine.settle()) / requests.samples);
    }
    await query(engines, figures, startMs, startMs + (steps - 1) * stepMs);
    for (const engine of engines) {
      note(figures, "store.peak", engine, peakBytes(engine.pid) / 2 ** 20);
      note(figures, "store.start", engine, await engine.restart());
    }
  });
}

async function query(
  engines: readonly Engine[],
  figures: Figures,
  startMs: number,
  endMs: number,
): Promise<void> {
  const counted = 5;
  const before = new Map(engines.map((engine) => [engine.name, cpuSeconds(engine.pid)]));
  const logs = new Map<string, { sum: number; count: number }>();
  for (const question of questions(startMs, endMs)) {
    const took = new Map<EngineName, number[]>();
    for (let run = 0; run <= counted; run++)
      for (const engine of engines) {
        const { tookMs } = await ask(engine, question);
        if (run > 0) took.set(engine.name, [...(took.get(engine.name) ?? []), tookMs]);
      }
    const shape = question.range === undefined ? "instant" : "range";
    for (const engine of engines) {
      const key = `${shape} ${engine.name}`;
      const { sum, count } = logs.get(key) ?? { sum: 0, count: 0 };
      const log = Math.log(middle(took.get(engine.name) ?? []));
      logs.set(key, { sum: sum + log, count: count + 1 });
    }
  }
  for (const engine of engines) {
    for (const shape of ["instant", "range"]) {
      const { sum, count } = logs.get(`${shape} ${engine.name}`) ?? { sum: NaN, count: 1 };
      note(figures, `store.${shape}`, engine, Math.exp(sum / count));
    }
    const spent = cpuSeconds(engine.pid) - (before.get(engine.name) ?? 0);
    note(figures, "store.query-cpu", engine, spent);
  }
}

async function many(context: Context, round: number, gpus: number): Promise<void> {
  const [steps, stepMs] = [120, 15_000];
  const startMs = endsNow() - (steps - 1) * stepMs;
  const requests = encodeFleet({ gpus, steps, stepMs, startMs }, 4);
  await withEngines(context, round, async (engines, figures) => {
    const taken = await fill(engines, requests);
    for (const engine of engines) {
      note(figures, "store.many.cpu", engine, taken.get(engine.name)?.cpu ?? Number.NaN);
      note(figures, "store.many.memory", engine, residentBytes(engine.pid) / 2 ** 20);
      note(figures, "store.many.bytes", engine, (await engine.settle()) / requests.samples);
    }
  });
}
