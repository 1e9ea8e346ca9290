/**
 * The hub beside Prometheus and VictoriaMetrics: `npm run bench:store`. Sends the same requests and the same queries to each,
 * compares the results and prints every ratio. BENCH_SCALE=0.1 uses a tenth of the fleets, BENCH_ONLY=fleet, large, trace, month,
 * many, beside or paced runs one part; paced lasts BENCH_MINUTES, ten by default.
 */
import { type BenchFleet, encodeFleet, type FleetRequests, seriesPerGpu } from "./hub-data.ts";
import {
  type Engine,
  type EngineName,
  ingest,
  peakBytes,
  startHubEngine,
  startPrometheusEngine,
  startVictoriaMetricsEngine,
} from "./hub-engines.ts";
import { many, month } from "./hub-large.ts";
import { paced } from "./hub-paced.ts";
import {
  Figures,
  grouped,
  head,
  median,
  mib,
  ms,
  names,
  number,
  quantile,
  row,
  say,
} from "./hub-print.ts";
import {
  ask,
  compare,
  questions,
  type ResultDifference,
  type TimedResponse,
} from "./hub-queries.ts";
import { processCost } from "./process-cost.ts";
import { measureQueryLoad } from "./query-load.ts";
import { traceRequests } from "./trace-requests.ts";

const scale = Number(process.env["BENCH_SCALE"] ?? "1");
const only = process.env["BENCH_ONLY"];
const runs = Number(process.env["BENCH_RUNS"] ?? "5");
const senders = 4;
async function fill(engines: readonly Engine[], requests: FleetRequests): Promise<void> {
  const figures = new Figures();
  const put = (what: string, engine: Engine, value: number): void =>
    figures.put(what, engine.name, value);
  for (const engine of engines) {
    const cost = await ingest(engine, requests.senders);
    put("rate", engine, requests.samples / cost.seconds);
    put("cpu", engine, (cost.cpuSeconds / requests.samples) * 1e6);
    put("rss", engine, cost.residentBytes);
    put("peak", engine, cost.peakBytes);
    const bytes = await engine.settle();
    put("disk", engine, bytes / requests.samples);
    put("settled", engine, processCost(engine.pid).residentBytes);
  }
  const of = (what: string): Map<EngineName, number> => figures.of(what);
  row("ingest, samples/s", of("rate"), (value) => `${number(value / 1e6)} M`);
  row("processor seconds a million samples", of("cpu"), number);
  row("resident memory after ingest", of("rss"), mib);
  row("resident memory, most so far", of("peak"), mib);
  row("resident memory, settled", of("settled"), mib);
  row("bytes a sample on disk, settled, index included", of("disk"), (value) => value.toFixed(3));
}

const differenceText = (found: ResultDifference): string =>
  found.missing + found.different === 0
    ? `all ${grouped(found.points)} points the same`
    : `${grouped(found.different)} of ${grouped(found.points)} points differ (by ${(found.worst * 100).toPrecision(2)} % at most), ${grouped(found.missing)} in one only`;

async function query(engines: readonly Engine[], startMs: number, endMs: number): Promise<void> {
  const ratios = { VictoriaMetrics: [] as number[], Prometheus: [] as number[] };
  const notes: string[] = [];
  const before = new Map(engines.map((engine) => [engine.name, processCost(engine.pid)]));
  for (const question of questions(startMs, endMs)) {
    const took = new Map<EngineName, number[]>(names.map((name) => [name, []]));
    const last = new Map<EngineName, TimedResponse>();
    // One more than is counted: the first run has cold pages.
    for (let run = 0; run <= runs; run++) {
      for (const engine of engines) {
        const answer = await ask(engine, question);
        last.set(engine.name, answer);
        if (run > 0) took.get(engine.name)?.push(answer.tookMs);
      }
    }
    const medians = new Map(names.map((name) => [name, median(took.get(name) ?? [])]));
    row(question.name, medians, ms);
    for (const peer of ["VictoriaMetrics", "Prometheus"] as const) {
      ratios[peer].push((medians.get("hub") ?? NaN) / (medians.get(peer) ?? NaN));
      const found = compare(last.get("hub")?.body ?? "", last.get(peer)?.body ?? "");
      notes.push(`- ${question.name}, beside ${peer}: ${differenceText(found)}`);
    }
  }
  const mean = (values: readonly number[]): string =>
    number(Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length));
  say(`| geometric mean | | | | ${mean(ratios.VictoriaMetrics)} | ${mean(ratios.Prometheus)} |`);
  const cost = (of: (engine: Engine) => number): Map<EngineName, number> =>
    new Map(engines.map((engine) => [engine.name, of(engine)]));
  row(
    "processor seconds of all these queries",
    cost(({ name, pid }) => processCost(pid).cpuSeconds - (before.get(name)?.cpuSeconds ?? 0)),
    number,
  );
  row(
    "resident memory after them",
    cost(({ pid }) => processCost(pid).residentBytes),
    mib,
  );
  row(
    "resident memory, most so far",
    cost(({ pid }) => peakBytes(pid)),
    mib,
  );
  say("\nAnswers (a tolerance of 1e-9, metric names left out):\n");
  for (const note of notes) say(note);
}

async function withEngines(work: (engines: readonly Engine[]) => Promise<void>): Promise<void> {
  const engines: Engine[] = [];
  try {
    for (const start of [() => startHubEngine(), startVictoriaMetricsEngine, startPrometheusEngine])
      engines.push(await start());
    await work(engines);
  } finally {
    for (const engine of engines) await engine.stop();
  }
}

/** Ends at the last full minute, so that every engine treats the samples as recent. */
function fleetOf(gpus: number, steps: number, stepMs: number): BenchFleet {
  const endMs = Math.floor(Date.now() / 60_000) * 60_000;
  return { gpus, steps, stepMs, startMs: endMs - (steps - 1) * stepMs };
}

async function fleet(): Promise<void> {
  const shape = fleetOf(64, Math.max(1_000, Math.round(4_320 * scale)), 5_000);
  const requests = encodeFleet(shape, senders);
  const hours = ((shape.steps * shape.stepMs) / 3_600_000).toFixed(1);
  head(
    `64 GPUs × ${seriesPerGpu} series × ${hours} h at 5 s: ${grouped(requests.samples)} samples`,
  );
  await withEngines(async (engines) => {
    await fill(engines, requests);
    const endMs = shape.startMs + (shape.steps - 1) * shape.stepMs;
    await query(engines, shape.startMs, endMs);
  });
}

async function large(): Promise<void> {
  const shape = fleetOf(Math.round(2_000 * scale), 40, 15_000);
  const requests = encodeFleet(shape, senders);
  head(
    `${grouped(shape.gpus)} GPUs × ${seriesPerGpu} series × 10 min at 15 s: ${grouped(requests.samples)} samples`,
  );
  await withEngines(async (engines) => {
    await fill(engines, requests);
    const timeMs = shape.startMs + 39 * 15_000 - 2_500;
    const range = { startMs: shape.startMs + 302_500, endMs: timeMs, stepMs: 15_000 };
    for (const [what, text] of [
      ["instant, one metric of every GPU", "gpu_power_watts"],
      ["instant, sum by host", "sum by (host) (gpu_power_watts)"],
      [
        "instant, topk of a join",
        "topk(10, gpu_power_watts * on (uuid) group_left (model) gpu_info)",
      ],
    ] as const)
      await latency(engines, what, { name: what, query: text, timeMs });
    await latency(engines, "range, sum by host of rate", {
      name: "rate",
      query: "sum by (host) (rate(gpu_energy_joules_total[2m]))",
      range,
      timeMs,
    });
  });
}

async function latency(
  engines: readonly Engine[],
  what: string,
  question: Parameters<typeof ask>[1],
): Promise<void> {
  const medians = new Map<EngineName, number>();
  for (const engine of engines) {
    const took: number[] = [];
    for (let run = 0; run <= runs; run++) took.push((await ask(engine, question)).tookMs);
    medians.set(engine.name, median(took.slice(1)));
  }
  row(what, medians, ms);
}

/** The slowdown of a small query by four permanently running heavy queries. */
async function beside(): Promise<void> {
  const shape = fleetOf(64, Math.max(1_000, Math.round(4_320 * scale)), 5_000);
  const requests = encodeFleet(shape, senders);
  const endMs = shape.startMs + (shape.steps - 1) * shape.stepMs;
  head(`Beside four heavy range queries over ${grouped(requests.samples)} samples`);
  await withEngines(async (engines) => {
    const figures = new Figures();
    for (const engine of engines) {
      await ingest(engine, requests.senders);
      await engine.settle();
      const range = { startMs: shape.startMs, endMs };
      const found = await measureQueryLoad(engine, range, { quiet: 5, loaded: 20 });
      for (const phase of ["quiet", "loaded"] as const)
        for (const probe of ["healthy", "instant"] as const)
          for (const share of [0.5, 0.99])
            figures.put(
              `${phase} ${probe} ${share}`,
              engine.name,
              quantile(found[phase][probe], share),
            );
      figures.put("heavy", engine.name, found.heavy);
    }
    for (const [probe, what] of [
      ["healthy", "`/-/healthy`"],
      ["instant", "an instant query of 8 series"],
    ] as const)
      for (const [phase, when] of [
        ["quiet", "alone"],
        ["loaded", "beside four heavy queries"],
      ] as const)
        for (const share of [0.5, 0.99])
          row(`${what} ${when}, p${share * 100}`, figures.of(`${phase} ${probe} ${share}`), ms);
    row("heavy queries answered in 20 s", figures.of("heavy"), grouped);
  });
}

async function trace(): Promise<void> {
  const { samples, bodies } = traceRequests();
  head(`The trace of a real H200, 155 s at 20 Hz: ${grouped(samples)} samples`);
  await withEngines(async (engines) => {
    const figures = new Map<EngineName, number>();
    for (const engine of engines) {
      await ingest(engine, [bodies]);
      figures.set(engine.name, (await engine.settle()) / samples);
    }
    row("bytes a sample on disk, settled, index included", figures, (value) => value.toFixed(3));
  });
}

if (only === undefined || only === "trace") await trace();
if (only === undefined || only === "fleet") await fleet();
if (only === undefined || only === "large") await large();
if (only === undefined || only === "month") await month(scale, runs);
if (only === undefined || only === "many") await many(scale, runs);
if (only === undefined || only === "beside") await beside();
if (only === undefined || only === "paced")
  await paced(scale, Number(process.env["BENCH_MINUTES"] ?? "10"));
