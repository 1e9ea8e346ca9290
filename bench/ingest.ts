/**
 * Every receiver of the hub beside VictoriaMetrics and Prometheus, which get the same requests if they support them: `npm run
 * bench:ingest`. Prints samples per second, processor seconds per million samples (from /proc), and bytes on the wire per sample.
 * BENCH_SCALE=0.2 uses a fifth of the samples, BENCH_ONLY=frames, write or scrape runs one part, BENCH_SECONDS is the duration of
 * the scrape measurement.
 */
import {
  type Engine,
  type EngineName,
  startHubEngine,
  startPrometheusEngine,
  startVictoriaMetricsEngine,
} from "./hub-engines.ts";
import { grouped, number, say } from "./hub-print.ts";
import { seriesPerGpu } from "./hub-data.ts";
import { framesPath } from "./ingest-frames.ts";
import { scrapeTargets, targets } from "./ingest-scrape.ts";
import { type IngestFigures, ingestPath } from "./ingest-send.ts";
import { gpus, type IngestFleet, type IngestPath, ingestPaths, makeFleet } from "./ingest-paths.ts";

const scale = Number(process.env["BENCH_SCALE"] ?? "1");
const only = process.env["BENCH_ONLY"];
const scrapeSeconds = Number(process.env["BENCH_SECONDS"] ?? "30");
const scrapeIntervalSeconds = 2;
const steps = Math.max(8, Math.round(160 * scale));

const starts: Readonly<Record<EngineName, () => Promise<Engine>>> = {
  hub: () => startHubEngine(),
  VictoriaMetrics: startVictoriaMetricsEngine,
  Prometheus: startPrometheusEngine,
};
/**
 * The peers that support a format. The packaged VictoriaMetrics and Prometheus of today's distributions support neither OTLP nor
 * remote-write 2.0.
 */
const peersOf: Readonly<Record<string, readonly EngineName[]>> = {
  "remote-write 1.0": ["VictoriaMetrics", "Prometheus"],
  "Influx line": ["VictoriaMetrics"],
};

function head(): void {
  say(
    "| way in | engine | samples/s | processor s a million | bytes on the wire a sample | hub's processor time / theirs |",
  );
  say("|---|---|---|---|---|---|");
}

function rows(name: string, found: ReadonlyMap<EngineName, IngestFigures>): void {
  const hub = found.get("hub");
  for (const [engine, { samplesPerSecond, cpuSecondsPerMillion, wireBytesPerSample }] of found) {
    const ratio =
      engine === "hub" || hub === undefined
        ? ""
        : number(hub.cpuSecondsPerMillion / cpuSecondsPerMillion);
    const cells = [
      name,
      engine,
      grouped(Math.round(samplesPerSecond)),
      number(cpuSecondsPerMillion),
      wireBytesPerSample.toFixed(1),
      ratio,
    ];
    say(`| ${cells.join(" | ")} |`);
  }
}

/** Each engine starts empty: repeated samples would be duplicates. */
async function measure(way: IngestPath): Promise<Map<EngineName, IngestFigures>> {
  const found = new Map<EngineName, IngestFigures>();
  for (const name of ["hub", ...(peersOf[way.name] ?? [])] as const) {
    const engine = await starts[name]();
    try {
      found.set(name, await ingestPath(engine, way));
    } finally {
      await engine.stop();
    }
  }
  rows(way.name, found);
  return found;
}

async function frames(fleet: IngestFleet): Promise<void> {
  const live = await measure(framesPath("native frames, one a request", fleet, 1));
  await measure(framesPath("native frames out of a spool", fleet, 6));
  const bytes = (live.get("hub")?.wireBytesPerSample ?? NaN) * 8 * seriesPerGpu;
  notes.push(
    `8 GPUs every 30 s by push are ${number(bytes / 30)} bytes a second (${seriesPerGpu} series a GPU).`,
  );
}

const notes: string[] = [];
const fleet = makeFleet(steps, Math.floor(Date.now() / 1_000) * 1_000);
say(
  `\n### ${gpus} GPUs × ${seriesPerGpu} series × ${steps} instants, 2,000 samples a request, four senders; ${targets} targets of eight GPUs scraped every ${scrapeIntervalSeconds} s\n`,
);
head();
if (only === undefined || only === "frames") await frames(fleet);
if (only === undefined || only === "write")
  for (const make of ingestPaths) await measure(make(fleet));
if (only === undefined || only === "scrape")
  rows("scraping 200 targets", await scrapeTargets(scrapeSeconds, scrapeIntervalSeconds));
for (const note of notes) say(`\n${note}`);
