/**
 * The cost of reading an NVIDIA GPU beside polling nvidia-smi. Measured if nvidia-smi is available; otherwise the values are
 * those of the stored run on a real H200 (docs/reference/nvidia-check.md), since no replacement of nvidia-smi would have its
 * cost.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startAgent } from "../../engines/program.ts";
import { Scraper } from "../scrape.ts";
import { cpuSeconds } from "./cost.ts";
import { type Area, type Context, line } from "./measurement.ts";

const xml = "nvidia-smi -q -x every second";
const csv = "nvidia-smi --query-gpu of three fields every second";
const smiArgs = {
  xml: ["-q", "-x"],
  csv: ["--query-gpu=utilization.gpu,power.draw,temperature.gpu", "--format=csv"],
};

export const nvidia: Area = {
  name: "nvidia",
  title: "The agent beside polling nvidia-smi",
  about:
    "processor time of the whole agent at 1 s, everything on, and of one more scrape of its page, beside nvidia-smi started once a second; for one GPU.",
  measurements: [
    line("nvidia.second.xml", "a second of reading everything", xml, "processor", "ms"),
    line("nvidia.second.csv", "a second of reading everything", csv, "processor", "ms"),
    line("nvidia.scrape.xml", "one more reader", xml, "processor", "ms"),
    line("nvidia.scrape.csv", "one more reader", csv, "processor", "ms"),
  ],
  measure: async (context) => {
    const isHere = spawnSync("nvidia-smi", ["-L"]).status === 0;
    await (isHere ? live(context) : putRecorded(context));
  },
};

async function putRecorded({ put, elsewhere }: Context): Promise<void> {
  const page = readFileSync(
    new URL("../../docs/reference/nvidia-check.md", import.meta.url),
    "utf8",
  );
  const figure = (pattern: RegExp): number => {
    const found = pattern.exec(page)?.[1];
    if (found === undefined) throw new Error(`docs/reference/nvidia-check.md has no ${pattern}`);
    return Number(found);
  };
  const second = figure(/agent at 1 s, everything on, idle GPU \| ([\d.]+) % of a core/) * 10;
  const scrape = figure(/a scrape of our page \| ([\d.]+) ms of processor/);
  const smi = {
    csv: figure(/--query-gpu, three fields \| ([\d.]+) ms of processor/),
    xml: figure(/per scrape: -q -x \| ([\d.]+) ms of processor/),
  };
  for (const way of ["xml", "csv"] as const) {
    put(`nvidia.second.${way}`, second, smi[way]);
    put(`nvidia.scrape.${way}`, scrape, smi[way]);
  }
  const machine = /^1 × .*$/m.exec(page)?.[0].replace(/T(\d+:\d+).*$/, " $1 UTC") ?? "";
  elsewhere(
    `Not taken on the machine above, which has no NVIDIA GPU: these are the figures of [the check on a real H200](reference/nvidia-check.md) (${machine}). With nvidia-smi here they are measured again.`,
  );
}

/** Processor time of child processes that have ended, in ticks of 10 ms. */
function childrenSeconds(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

async function live({ full, put, progress }: Context): Promise<void> {
  const [rounds, seconds, calls] = full ? [5, 30, 20] : [3, 10, 10];
  const ours = await startAgent(["--interval", "1s", "--log-level", "warn"]);
  const scraper = new Scraper(`${ours.url}/metrics`);
  const pid = ours.process.pid;
  try {
    await sleep(10_000);
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1} of ${rounds}`);
      const before = cpuSeconds(pid);
      await sleep(seconds * 1_000);
      const second = ((cpuSeconds(pid) - before) / seconds) * 1_000;
      const beforeScrapes = cpuSeconds(pid);
      for (let call = 0; call < calls * 10; call++) await scraper.scrape();
      const scrape = ((cpuSeconds(pid) - beforeScrapes) / calls / 10) * 1_000;
      for (const way of ["xml", "csv"] as const) {
        const was = childrenSeconds();
        for (let call = 0; call < calls; call++) {
          const { status } = spawnSync("nvidia-smi", smiArgs[way]);
          if (status !== 0) throw new Error(`nvidia-smi ${smiArgs[way].join(" ")} failed`);
        }
        const theirs = ((childrenSeconds() - was) / calls) * 1_000;
        put(`nvidia.second.${way}`, second, theirs);
        put(`nvidia.scrape.${way}`, scrape, theirs);
      }
    }
  } finally {
    scraper.close();
    await ours.stop();
  }
}
