/**
 * The agent with eight simulated GPUs at 1 s beside prometheus-node-exporter, both scraped once a second in the same minute.
 * Prints ratios: the machine is shared, so only the peer in the same run is comparable. `npm run bench:agent`
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startNodeExporter } from "../engines/node-exporter.ts";
import { startAgent } from "../engines/program.ts";
import { findTool } from "../engines/tools.ts";
import { processCost } from "./process-cost.ts";
import { Scraper } from "./scrape.ts";

const warmUpSeconds = 15;
const seconds = Number(process.env["BENCH_SECONDS"] ?? 60);

interface Measured {
  readonly residentMb: number;
  readonly cpuPercent: number;
  readonly scrapeBytes: number;
}

const tool = findTool("node-exporter");
if ("missing" in tool) throw new Error(tool.missing);
const agent = await startAgent(["--source", "sim:8", "--interval", "1s", "--log-level", "warn"]);
const exporter = await startNodeExporter(tool.path);
try {
  process.stdout.write(
    `scraping both once a second: ${warmUpSeconds} s to warm up, then ${seconds} s\n`,
  );
  const [ours, theirs] = await measure([
    { pid: agent.process.pid, url: `${agent.url}/metrics` },
    { pid: exporter.process.pid, url: `${exporter.url}/metrics` },
  ]);
  if (ours === undefined || theirs === undefined) throw new Error("BUG: two were measured");
  print(ours, theirs);
} finally {
  await agent.stop();
  await exporter.stop();
}

async function measure(targets: readonly { pid: number; url: string }[]): Promise<Measured[]> {
  const scrapers = targets.map(({ url }) => new Scraper(url));
  const scrapeAll = async (count: number): Promise<number[]> => {
    const bytes = targets.map(() => 0);
    for (let second = 0; second < count; second++) {
      const nextMs = performance.now() + 1_000;
      for (const [index, scraper] of scrapers.entries()) {
        bytes[index] = (bytes[index] ?? 0) + (await scraper.scrape()).wireBytes;
      }
      await sleep(Math.max(0, nextMs - performance.now()));
    }
    return bytes;
  };
  await scrapeAll(warmUpSeconds);
  const before = targets.map(({ pid }) => processCost(pid));
  const startMs = performance.now();
  const bytes = await scrapeAll(seconds);
  const elapsedSeconds = (performance.now() - startMs) / 1_000;
  for (const scraper of scrapers) scraper.close();
  return targets.map(({ pid }, index) => {
    const after = processCost(pid);
    return {
      residentMb: after.residentBytes / 1e6,
      cpuPercent: ((after.cpuSeconds - (before[index]?.cpuSeconds ?? 0)) / elapsedSeconds) * 100,
      scrapeBytes: (bytes[index] ?? 0) / seconds,
    };
  });
}

function print(ours: Measured, theirs: Measured): void {
  const row = (
    name: string,
    ourValue: number,
    theirValue: number,
    unit: string,
    digits: number,
  ): string =>
    `${name.padEnd(28)}${ourValue.toFixed(digits).padStart(10)}${theirValue.toFixed(digits).padStart(16)} ${unit.padEnd(10)}${(ourValue / theirValue).toFixed(2).padStart(6)}\n`;
  const wirePerSecond = ours.scrapeBytes / 30;
  process.stdout.write(
    `\n${"".padEnd(28)}${"gpulse".padStart(10)}${"node-exporter".padStart(16)}${"ratio".padStart(17)}\n` +
      row("resident memory", ours.residentMb, theirs.residentMb, "MB", 1) +
      row("processor, of one core", ours.cpuPercent, theirs.cpuPercent, "%", 2) +
      row("a scrape on the wire, gzip", ours.scrapeBytes / 1e3, theirs.scrapeBytes / 1e3, "kB", 2) +
      "\n" +
      aim("resident memory at most 80 MB", ours.residentMb <= 80) +
      aim("processor at most 2 x node-exporter's", ours.cpuPercent <= 2 * theirs.cpuPercent) +
      aim(
        `at a 30 s interval ${(wirePerSecond / 1e3).toFixed(3)} kB/s on the wire, at most 1`,
        wirePerSecond <= 1_000,
      ),
  );
}

function aim(text: string, met: boolean): string {
  return `${met ? "met    " : "NOT MET"}  ${text}\n`;
}
