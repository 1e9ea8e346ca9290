/** Two extreme shapes, the hub beside VictoriaMetrics: one GPU stored at 1 s for thirty days, and 10,000 GPUs at once. */
import { labelSet } from "../src/model/labels.ts";
import { encodeFleet, seriesPerGpu } from "./hub-data.ts";
import { type Engine, ingest, startHubEngine, startVictoriaMetricsEngine } from "./hub-engines.ts";
import { Figures, grouped, head, median, mib, ms, number, quantile, row } from "./hub-print.ts";
import { startProbe } from "./hub-probing.ts";
import { ask } from "./hub-queries.ts";
import { processCost } from "./process-cost.ts";
import { WriteRequests } from "./remote-write.ts";
import { FleetValues } from "./store-data.ts";

const dayMs = 86_400_000;
const starts = [() => startHubEngine(), startVictoriaMetricsEngine];

async function each(work: (engine: Engine) => Promise<void>): Promise<void> {
  for (const start of starts) {
    const engine = await start();
    try {
      await work(engine);
    } finally {
      await engine.stop();
    }
  }
}

/** A chart of a thousand points over a month of 1 s samples. */
export async function month(scale: number, runs: number): Promise<void> {
  const metrics = ["gpu_temperature_celsius", "gpu_power_watts", "gpu_energy_joules_total"];
  const samples = Math.round((30 * dayMs * scale) / 1000);
  const endMs = Math.floor(Date.now() / 60_000) * 60_000;
  const startMs = endMs - samples * 1000;
  const requests = new WriteRequests(
    metrics.map((name) => labelSet({ __name__: name, uuid: "GPU-0", job: "gpulse" })),
  );
  const values = new FleetValues(10, 10);
  const bodies: Buffer[] = [];
  for (let from = 0; from < samples; from += 2_000) {
    const times = Array.from(
      { length: Math.min(2_000, samples - from) },
      (_, i) => startMs + (from + i) * 1000,
    );
    // Kinds 3, 4 and 5 of the generator are temperature, power and energy.
    bodies.push(requests.encode(0, metrics.length, times, (metric) => values.value(3 + metric)));
  }
  const total = samples * metrics.length;
  head(
    `One GPU, ${metrics.length} metrics at 1 s for ${30 * scale} days: ${grouped(total)} samples`,
  );
  const figures = new Figures();
  const stepMs = Math.round((samples * 1000) / 1_000 / 1000) * 1000;
  const window = `${stepMs / 1000}s`;
  const charts = [
    "gpu_power_watts",
    `avg_over_time(gpu_power_watts[${window}])`,
    `max_over_time(gpu_power_watts[${window}])`,
    `rate(gpu_energy_joules_total[${window}])`,
    `quantile_over_time(0.99, gpu_power_watts[${window}])`,
  ];
  await each(async (engine) => {
    const cost = await ingest(engine, [bodies]);
    figures.put("rate", engine.name, total / cost.seconds);
    figures.put("disk", engine.name, (await engine.settle()) / total);
    for (const query of charts) {
      const range = { startMs: startMs + stepMs + 500, endMs: endMs - 1000, stepMs };
      const took: number[] = [];
      for (let run = 0; run <= runs; run++)
        took.push((await ask(engine, { name: query, query, range, timeMs: endMs })).tookMs);
      figures.put(query, engine.name, median(took.slice(1)));
    }
    figures.put("memory", engine.name, processCost(engine.pid).residentBytes);
  });
  row("ingest, samples/s", figures.of("rate"), (value) => `${number(value / 1e6)} M`);
  row("bytes a sample on disk, settled", figures.of("disk"), (value) => value.toFixed(3));
  for (const query of charts) row(`chart, \`${query}\``, figures.of(query), ms);
  row("resident memory after them", figures.of("memory"), mib);
}

export async function many(scale: number, runs: number): Promise<void> {
  const gpus = Math.round(10_000 * scale);
  const steps = 40;
  const startMs = Math.floor(Date.now() / 60_000) * 60_000 - steps * 15_000;
  const { senders, samples } = encodeFleet({ gpus, steps, stepMs: 15_000, startMs }, 4);
  head(
    `${grouped(gpus)} GPUs, ${grouped(gpus * seriesPerGpu)} series at 15 s for ten minutes: ${grouped(samples)} samples`,
  );
  const figures = new Figures();
  const millions = (gpus * seriesPerGpu) / 1e6;
  await each(async (engine) => {
    const put = (kind: string, value: number): void => figures.put(kind, engine.name, value);
    const writing = startProbe(engine.url);
    const cost = await ingest(engine, senders);
    const whileWriting = await writing.stop();
    put("rate", samples / cost.seconds);
    put("share", cost.cpuSeconds / (steps * 15) / millions);
    put("memory", cost.residentBytes / millions);
    put("write wait", quantile(whileWriting, 0.99));
    put("write most", Math.max(...whileWriting));
    put("start, log", await engine.restart());
    const sealing = startProbe(engine.url);
    put("disk", (await engine.settle()) / samples);
    const whileSealing = await sealing.stop();
    put("seal wait", quantile(whileSealing, 0.99));
    put("seal most", Math.max(...whileSealing));
    put("start, sealed", await engine.restart());
    const query = "sum by (host) (gpu_power_watts)";
    const timeMs = startMs + 39 * 15_000;
    const took: number[] = [];
    for (let run = 0; run <= runs; run++)
      took.push((await ask(engine, { name: query, query, timeMs })).tookMs);
    put("query", median(took.slice(1)));
  });
  row("ingest, samples/s", figures.of("rate"), (value) => `${number(value / 1e6)} M`);
  row("cores a million series at 15 s", figures.of("share"), number);
  row("resident memory a million series", figures.of("memory"), mib);
  row("`/-/healthy` while writing, p99", figures.of("write wait"), ms);
  row("`/-/healthy` while writing, longest", figures.of("write most"), ms);
  row("`/-/healthy` while sealing, p99", figures.of("seal wait"), ms);
  row("`/-/healthy` while sealing, longest", figures.of("seal most"), ms);
  row("ready again after a kill, from the log", figures.of("start, log"), ms);
  row("ready again after a kill, sealed", figures.of("start, sealed"), ms);
  row("instant, sum by host", figures.of("query"), ms);
  row("bytes a sample on disk, settled", figures.of("disk"), (value) => value.toFixed(3));
}
