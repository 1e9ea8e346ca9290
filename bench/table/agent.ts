/** The agent with eight simulated GPUs at 1 s beside node-exporter, both scraped once a second in the same seconds. */
import { setTimeout as sleep } from "node:timers/promises";
import { requiredTool } from "../../engines/cache.ts";
import { startNodeExporter } from "../../engines/node-exporter.ts";
import { startAgent } from "../../engines/program.ts";
import { Scraper } from "../scrape.ts";
import { cpuSeconds, residentBytes } from "./cost.ts";
import { type Area, line } from "./measurement.ts";

const peer = "node-exporter";

export const agent: Area = {
  name: "agent",
  title: "The agent beside node-exporter",
  about:
    "the agent with `sim:8` at 1 s and node-exporter with its defaults, both scraped once a second with gzip; processor time and memory from /proc, the wire with headers.",
  more: "npm run bench:agent",
  measurements: [
    line("agent.cpu", "processor, of one core", peer, "processor", "%"),
    line("agent.memory", "resident memory", peer, "memory", "MB", {
      behind:
        "Node itself takes 41 MB before the first line of ours runs, 34 of them its program, which every Node on the machine shares. A smaller one asks for another runtime; the single-file program carries the same Node.",
    }),
    line("agent.wire", "a scrape on the wire, gzip", peer, "bytes", "kB", {
      behind:
        "the page has 803 samples of eight GPUs, about 100 a GPU, in 92 kB of text. gzip takes 11.6 kB for it at level 1, 9.8 at level 5, which the agent uses, and 9.7 at level 9: the floor of this page. The row was 0.90 before peer access, unchecked health and rates of the tensor cores were on it.",
    }),
  ],
  measure: async ({ full, put, progress }) => {
    const [rounds, seconds, warmUpSeconds] = full ? [6, 30, 20] : [5, 10, 12];
    const tool = requiredTool("node-exporter");
    const ours = await startAgent(["--source", "sim:8", "--interval", "1s", "--log-level", "warn"]);
    const theirs = await startNodeExporter(tool);
    const pids = [ours.process.pid, theirs.process.pid] as const;
    const scrapers = [new Scraper(`${ours.url}/metrics`), new Scraper(`${theirs.url}/metrics`)];
    const scrapeFor = async (count: number): Promise<[number, number]> => {
      const bytes: [number, number] = [0, 0];
      for (let second = 0; second < count; second++) {
        const nextMs = performance.now() + 1_000;
        for (const [at, scraper] of scrapers.entries())
          bytes[at as 0 | 1] += (await scraper.scrape()).wireBytes;
        await sleep(Math.max(0, nextMs - performance.now()));
      }
      return bytes;
    };
    try {
      await scrapeFor(warmUpSeconds);
      for (let round = 0; round < rounds; round++) {
        progress(`round ${round + 1} of ${rounds}: ${seconds} s of scraping both`);
        const before = pids.map(cpuSeconds);
        const beganMs = performance.now();
        const bytes = await scrapeFor(seconds);
        const spanSeconds = (performance.now() - beganMs) / 1_000;
        const [own = 0, other = 0] = pids.map(
          (pid, at) => ((cpuSeconds(pid) - (before[at] ?? 0)) / spanSeconds) * 100,
        );
        put("agent.cpu", own, other);
        put("agent.memory", residentBytes(pids[0]) / 1e6, residentBytes(pids[1]) / 1e6);
        put("agent.wire", bytes[0] / seconds / 1e3, bytes[1] / seconds / 1e3);
      }
    } finally {
      for (const scraper of scrapers) scraper.close();
      await ours.stop();
      await theirs.stop();
    }
  },
};
