#!/usr/bin/env node
// Holds gpulse against nvidia-smi and the hardware's own energy counter on a machine with an NVIDIA GPU, idle and under load,
// and measures what it costs. Needs Node, the built dist/ and node_modules/koffi; PyTorch for the load. Changes nothing.
//
//   node test/device/check-nvidia.mjs OUT_DIR [--dist DIR] [--library FILE] [--smi COMMAND] [--pace 1] [--short]
//
// About 190 s; --pace 0.6 shortens every stretch to that share. --short only tries this program.
// Writes check.json and check.md; ends with 1 where something is out of bounds.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { compareGpu, gpusOf, limitFinding, textAt } from "./compare.mjs";
import { parsePage, valueOf } from "./exposition.mjs";
import {
  costOf,
  layOut,
  memoryParts,
  priceOf,
  run,
  runBeside,
  shareOf,
  startAgent,
  startLoad,
  threadsOf,
} from "./machine.mjs";
import { energyReader, fastPass } from "./nvml.mjs";
import { asMarkdown } from "./report.mjs";
import { checkStats } from "./stats.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
    library: { type: "string", default: "libnvidia-ml.so.1" },
    smi: { type: "string", default: "nvidia-smi" },
    pace: { type: "string", default: "1" },
    short: { type: "boolean", default: false },
  },
});
const out = path.resolve(positionals[0] ?? "check-nvidia");
const cliMain = path.join(options.dist, "gpulse", "main.js");
const named = options.library === "libnvidia-ml.so.1" ? "" : `&library=${options.library}`;
const source = `nvidia:?processes=true${named}`;
const seconds = (/** @type {number} */ full) =>
  options.short ? Math.max(2, full / 10) : full * Number(options.pace);

/** @type {{ what: string, measured: string, bound: string, ok: boolean }[]} */
const results = [];
const note = (
  /** @type {string} */ what,
  /** @type {string} */ measured,
  /** @type {string} */ bound,
  /** @type {boolean} */ ok,
) => {
  results.push({ what, measured, bound, ok });
  process.stdout.write(`${ok ? "ok  " : "BAD "} ${what}: ${measured} (${bound})\n`);
};

const smiXml = () => run(options.smi, ["-q", "-x"]).stdout;

/** Several looks; a value must agree in each of them. */
async function comparePhase(
  /** @type {string} */ phase,
  /** @type {Awaited<ReturnType<typeof startAgent>>} */ agent,
  /** @type {number} */ looks,
) {
  /** @type {Map<string, import("./compare.mjs").Finding & { looks: number, bad: number }>} */
  const rows = new Map();
  // nvidia-smi itself stirs an idle card, whose averaged power takes a second to follow: the first run is not looked at.
  smiXml();
  await sleep(2_000);
  for (let look = 0; look < looks; look++) {
    const pages = [await agent.page()];
    const running = runBeside(options.smi, ["-q", "-x"]);
    for (;;) {
      const isOver = await Promise.race([running.then(() => true), sleep(60, false)]);
      pages.push(await agent.page());
      if (isOver) break;
    }
    const xml = await running;
    await sleep(150);
    pages.push(await agent.page());
    gpusOf(xml).forEach((gpu, index) => {
      for (const finding of [...compareGpu(pages, gpu), limitFinding(pages, gpu)]) {
        const key = `${index} ${finding.what}`;
        const known = rows.get(key) ?? { ...finding, looks: 0, bad: 0 };
        const shown = finding.ok ? known : { ...known, ...finding };
        rows.set(key, {
          ...shown,
          ok: known.ok && finding.ok,
          looks: known.looks + 1,
          bad: known.bad + Number(!finding.ok),
        });
      }
    });
  }
  const all = [...rows.values()];
  const bad = all.filter(({ ok }) => !ok);
  note(
    `${phase}: values that agree with nvidia-smi in each of ${looks} looks`,
    `${all.length - bad.length} of ${all.length}`,
    "all",
    bad.length === 0,
  );
  for (const { what, ours, theirs, bound, bad: times } of bad)
    note(
      `${phase}: ${what}`,
      `ours ${ours}, nvidia-smi ${theirs}, ${times} of ${looks} looks`,
      bound,
      false,
    );
  return all;
}

/** Agents' processor share and memory against a bound. */
function noteCost(
  /** @type {string} */ what,
  /** @type {{ percent: number, residentBytes: number }} */ { percent, residentBytes },
  /** @type {number} */ most,
) {
  const megabytes = residentBytes / 1e6;
  const isSlow = most === 1;
  const measured = `${percent.toFixed(2)} % of a core, ${megabytes.toFixed(1)} MB`;
  note(
    what,
    measured,
    isSlow ? "≤ 1 %, ≤ 90 MB" : `≤ ${most} %`,
    percent <= most && (!isSlow || megabytes <= 90),
  );
}

mkdirSync(out, { recursive: true });
if (!existsSync(cliMain)) throw new Error(`${cliMain} is not there: run npm run build first`);
const agentMain = layOut(options.dist);
const xml = smiXml();
const [first = ""] = gpusOf(xml);
const machine = {
  gpu: textAt(first, "product_name"),
  gpus: gpusOf(xml).length,
  driver: textAt(xml, "driver_version"),
  node: process.version,
  time: new Date().toISOString(),
};
process.stdout.write(`${JSON.stringify(machine)}\n`);

const bench = await fastPass(path.join(options.dist, "agent", "nvidia-worker.js"), options.library);
note(
  "fast pass, processor time",
  `${bench.cpuMicros.toFixed(1)} µs for ${machine.gpus} GPU (${bench.wallMicros.toFixed(1)} µs wall)`,
  "≤ 60 µs a GPU",
  bench.cpuMicros <= 60 * machine.gpus,
);

const slowAgent = await startAgent(agentMain, source, "1s");
await sleep(seconds(12_000));
noteCost("agent at 1 s, everything on, idle GPU", await shareOf(slowAgent, seconds(30)), 1);
note("memory of that agent", memoryParts(slowAgent.pid), "reported", true);
const stats = checkStats({ cliMain, source, smi: options.smi, gpu: first, note });
const fastAgent = await startAgent(agentMain, source, "100ms");
await sleep(seconds(6_000));
const looks = options.short ? 2 : 5;
const idle = await comparePhase("idle", fastAgent, looks);

const load = await startLoad(`matmul:${seconds(40)}`);
/** @type {Awaited<ReturnType<typeof comparePhase>>} */
let loaded = [];
if (load === undefined) note("load", "no PyTorch here", "python3 with PyTorch", false);
else {
  await sleep(seconds(10_000));
  loaded = await comparePhase("load", fastAgent, looks);
  noteCost("agent at 1 s, everything on, loaded GPU", await shareOf(slowAgent, seconds(15)), 1);
  const page = parsePage(await slowAgent.page());
  const units = ["sm", "tensor", "dram"].map(
    (unit) => `${unit} ${valueOf(page, `gpu_${unit}_activity_ratio`)}`,
  );
  note("activity by GPM under a bf16 matrix product", units.join(", "), "reported", true);
  await load.ended;
}

const energy = energyReader(options.library);
const integrated = async (/** @type {typeof fastAgent} */ agent) =>
  valueOf(parsePage(await agent.page()), "gpu_energy_integrated_joules_total") ?? Number.NaN;
const minute = [4, "matmul:12", 5, "copy:12", "bursts:14", 5, "matmul:6", 4].map((phase) => {
  const [kind, length] = typeof phase === "number" ? ["idle", phase] : phase.split(":");
  return `${kind}:${seconds(Number(length))}`;
});
const mixed = await startLoad(minute.join(","));
const readAll = async () => ({
  hardware: energy(),
  fast: await integrated(fastAgent),
  slow: await integrated(slowAgent),
});
const start = await readAll();
const share = await shareOf(fastAgent, seconds(60));
const end = await readAll();
const used = end.hardware - start.hardware;
const off = (/** @type {"fast" | "slow"} */ which) =>
  (100 * (end[which] - start[which] - used)) / used;
const joules = (/** @type {"fast" | "slow"} */ which) =>
  `${(end[which] - start[which]).toFixed(0)} J against ${used.toFixed(0)} J: ${off(which).toFixed(2)} %`;
note(
  "integrated energy over a mixed minute, 10 Hz",
  joules("fast"),
  "within 1 %",
  Math.abs(off("fast")) <= 1,
);
note(
  "integrated energy over the same minute, 1 s",
  joules("slow"),
  "within 1 %",
  Math.abs(off("slow")) <= 1,
);
noteCost("agent at 10 Hz, everything on", share, 3);
await mixed?.ended;
const page = parsePage(await fastAgent.page());
const ofSource = (/** @type {string} */ name) =>
  page.filter((one) => one.name === name && one.labels["source"] === "nvidia");
const bad = ofSource("gpulse_source_reads_total").filter(
  ({ labels }) => labels["outcome"] !== "ok",
);
const badReads = bad.reduce((sum, { value }) => sum + value, 0);
note("10 Hz: reads that failed or were late", String(badReads), "0", badReads === 0);
const skipped = ofSource("gpulse_source_skipped_ticks_total").reduce(
  (sum, { value }) => sum + value,
  0,
);
note("10 Hz: ticks skipped", String(skipped), "reported", true);
const threads = { slow: threadsOf(slowAgent.pid), fast: threadsOf(fastAgent.pid) };
await fastAgent.stop();

const scrapes = 200;
const before = costOf(slowAgent.pid).cpuSeconds;
const startMs = performance.now();
for (let turn = 0; turn < scrapes; turn++) await slowAgent.page();
const scrape = {
  wallMs: (performance.now() - startMs) / scrapes,
  cpuMs: ((costOf(slowAgent.pid).cpuSeconds - before) * 1_000) / scrapes,
};
await slowAgent.stop();
const perQuery = priceOf(
  options.smi,
  ["--query-gpu=utilization.gpu,power.draw,temperature.gpu", "--format=csv"],
  10,
);
const perXml = priceOf(options.smi, ["-q", "-x"], 10);
const priced = (/** @type {{ wallMs: number, cpuMs: number }} */ { wallMs, cpuMs }) =>
  `${cpuMs.toFixed(2)} ms of processor, ${wallMs.toFixed(1)} ms wall`;
note("a scrape of our page", priced(scrape), "reported", true);
note("nvidia-smi per scrape: --query-gpu, three fields", priced(perQuery), "reported", true);
note("nvidia-smi per scrape: -q -x", priced(perXml), "reported", true);

// Where NVML cannot be loaded the same page comes from nvidia-smi.
const fallback = await startAgent(
  agentMain,
  `nvidia:?processes=true&library=/no/nvml&smi=${options.smi}`,
  "1s",
);
// nvidia-smi takes its time: the page serves what the first run of it printed.
let fallbackPage = await fallback.page();
for (let turn = 0; turn < 100 && !fallbackPage.includes("\ngpu_power_watts{"); turn++) {
  await sleep(100);
  fallbackPage = await fallback.page();
}
const pages = [fallbackPage];
const findings = compareGpu(pages, first).filter(({ theirs }) => theirs !== undefined);
const told = findings.filter(({ ours }) => ours !== undefined).length;
note(
  "without NVML: values reported through nvidia-smi",
  `${told} of ${findings.length}`,
  "at least nine in ten",
  told >= 0.9 * findings.length,
);
await fallback.stop();

const found = { machine, results, bench, idle, loaded };
const all = { ...found, stats, threads, scrape, perQuery, perXml };
writeFileSync(path.join(out, "check.json"), `${JSON.stringify(all, null, 1)}\n`);
writeFileSync(path.join(out, "check.md"), asMarkdown(found));
const failed = results.filter(({ ok }) => !ok).length;
process.stdout.write(failed === 0 ? "everything within bounds\n" : `${failed} out of bounds\n`);
process.exit(failed === 0 ? 0 : 1);
