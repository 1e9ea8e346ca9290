#!/usr/bin/env node
// Holds gpulse against nvidia-smi and the hardware's own energy counter on a machine with an NVIDIA GPU, idle and under load,
// and measures what it costs. Needs Node, the built dist/ and node_modules/koffi; PyTorch for the load. Changes nothing.
//
//   node test/device/check-nvidia.mjs OUT_DIR [--dist DIR] [--library FILE] [--smi COMMAND] [--short]
//
// Writes check.json and check.md; ends with 1 where something is out of bounds.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";

import { compareGpu, gpusOf, limitFinding, textAt } from "./compare.mjs";
import { parsePage, valueOf } from "./exposition.mjs";
import { priceOf, run, shareOf, startAgent, startLoad } from "./machine.mjs";
import { asMarkdown } from "./report.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
    library: { type: "string", default: "libnvidia-ml.so.1" },
    smi: { type: "string", default: "nvidia-smi" },
    short: { type: "boolean", default: false },
  },
});
const out = path.resolve(positionals[0] ?? "check-nvidia");
const agentMain = path.join(options.dist, "agent", "main.js");
const cliMain = path.join(options.dist, "gpulse", "main.js");
const named = options.library === "libnvidia-ml.so.1" ? "" : `&library=${options.library}`;
const source = `nvidia:?processes=true${named}`;
const seconds = (/** @type {number} */ full) => (options.short ? Math.max(2, full / 10) : full);

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
    const before = await agent.page();
    const xml = smiXml();
    // The agent reads once a second: its next reading is the one made beside theirs.
    await sleep(1_050);
    const pages = [before, await agent.page()];
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

/** The hardware's own counter, asked here and not through the agent. */
function energyReader() {
  const koffi = createRequire(import.meta.url)("koffi");
  const library = koffi.load(options.library);
  const call = (/** @type {string} */ name, /** @type {string[]} */ types) =>
    library.func(name, "int", types);
  call("nvmlInit_v2", [])();
  const handle = Buffer.alloc(8);
  call("nvmlDeviceGetHandleByIndex_v2", ["unsigned int", "void *"])(0, handle);
  const read = call("nvmlDeviceGetTotalEnergyConsumption", ["uint64_t", "void *"]);
  const energy = Buffer.alloc(8);
  return () => {
    const code = read(Number(handle.readBigUInt64LE(0)), energy);
    return code === 0 ? Number(energy.readBigUInt64LE(0)) / 1_000 : Number.NaN;
  };
}

async function fastPass() {
  const worker = new Worker(path.join(options.dist, "agent", "nvidia-worker.js"), {
    workerData: { libraries: [options.library], busy: new SharedArrayBuffer(4) },
  });
  const ask = (/** @type {object} */ request) =>
    new Promise((resolve) => {
      worker.once("message", ({ answer }) => resolve(answer));
      worker.postMessage({ id: 1, request });
    });
  await ask({ kind: "start", settings: { processes: true, slowEveryMs: 5_000 } });
  await ask({ kind: "read", tier: "slow", knows: 0 });
  await ask({ kind: "bench", passes: 500 });
  const { bench } = await ask({ kind: "bench", passes: 4_000 });
  await ask({ kind: "close" });
  return bench;
}

/** What `stats` says against `-q`, and its peers against the P2P matrix. */
function checkStats(/** @type {string} */ gpu) {
  const { stdout } = run(process.execPath, [
    cliMain,
    "stats",
    "--json",
    "--source",
    source,
    "--window",
    "3s",
  ]);
  const stats = JSON.parse(stdout);
  const [first] = stats.gpus;
  const number = (/** @type {string} */ at) =>
    Number(/-?\d+(\.\d+)?/.exec(textAt(gpu, at) ?? "")?.[0]);
  const link = "pci/pci_gpu_link_info";
  const pairs = [
    ["uuid", first.uuid.value, textAt(gpu, "uuid")],
    ["model", first.model.value, textAt(gpu, "product_name")],
    ["vbios", first.vbios.value, textAt(gpu, "vbios_version")],
    [
      "memory_total MiB",
      Math.round(first.memory_total.value / 1_048_576),
      number("fb_memory_usage/total"),
    ],
    ["power_limit", first.power_limit.value, number("gpu_power_readings/current_power_limit")],
    [
      "pcie generation",
      first.pcie_link.generation.value,
      number(`${link}/pcie_gen/current_link_gen`),
    ],
    [
      "pcie generation_max",
      first.pcie_link.generation_max.value,
      number(`${link}/pcie_gen/max_link_gen`),
    ],
    ["pcie width", first.pcie_link.width.value, number(`${link}/link_widths/current_link_width`)],
    [
      "pcie width_max",
      first.pcie_link.width_max.value,
      number(`${link}/link_widths/max_link_width`),
    ],
  ];
  for (const [what, ours, theirs] of pairs)
    note(`stats ${what}`, `${ours}`, `nvidia-smi ${theirs}`, ours === theirs);
  note(
    "stats average_power",
    `${first.average_power.value} W over ${first.average_power.samples} samples`,
    "there",
    first.average_power.value > 0,
  );
  const rows = run(options.smi, ["topo", "-p2p", "r"])
    .stdout.split("\n")
    .filter((line) => /^\s*GPU\d+\s/.test(line) && /X/.test(line));
  rows.forEach((line, index) => {
    const theirs = line
      .trim()
      .split(/\s+/)
      .slice(1)
      .filter((cell) => cell !== "X")
      .map((cell) => cell === "OK");
    const ours = (stats.gpus[index]?.p2p.peers ?? []).map(
      (/** @type {{ accessible: boolean }} */ peer) => peer.accessible,
    );
    note(
      `stats p2p of GPU ${index}`,
      JSON.stringify(ours),
      `nvidia-smi topo -p2p ${JSON.stringify(theirs)}`,
      JSON.stringify(ours) === JSON.stringify(theirs),
    );
  });
  return stats;
}

mkdirSync(out, { recursive: true });
if (!existsSync(agentMain)) throw new Error(`${agentMain} is not there: run npm run build first`);
const [first = ""] = gpusOf(smiXml());
const machine = {
  gpu: textAt(first, "product_name"),
  gpus: gpusOf(smiXml()).length,
  driver: textAt(smiXml(), "driver_version"),
  node: process.version,
  time: new Date().toISOString(),
};
process.stdout.write(`${JSON.stringify(machine)}\n`);

const bench = await fastPass();
note(
  "fast pass, processor time",
  `${bench.cpuMicros.toFixed(1)} µs for ${machine.gpus} GPU (${bench.wallMicros.toFixed(1)} µs wall)`,
  "≤ 60 µs a GPU",
  bench.cpuMicros <= 60 * machine.gpus,
);

const slowAgent = await startAgent(agentMain, source, "1s", 19_401);
await sleep(seconds(12_000));
const idle = await comparePhase("idle", slowAgent, options.short ? 2 : 5);
const stats = checkStats(first);
const idleShare = await shareOf(slowAgent, seconds(30));
note(
  "agent at 1 s, everything on, idle GPU",
  `${idleShare.percent.toFixed(2)} % of a core, ${(idleShare.residentBytes / 1e6).toFixed(1)} MB`,
  "≤ 1 %, ≤ 90 MB",
  idleShare.percent <= 1 && idleShare.residentBytes <= 90e6,
);

const load = await startLoad(`matmul:${seconds(40)}`);
/** @type {Awaited<ReturnType<typeof comparePhase>>} */
let loaded = [];
if (load === undefined) note("load", "no PyTorch here", "python3 with PyTorch", false);
else {
  await sleep(seconds(10_000));
  loaded = await comparePhase("load", slowAgent, options.short ? 2 : 5);
  const share = await shareOf(slowAgent, seconds(15));
  note(
    "agent at 1 s, everything on, loaded GPU",
    `${share.percent.toFixed(2)} % of a core, ${(share.residentBytes / 1e6).toFixed(1)} MB`,
    "≤ 1 %, ≤ 90 MB",
    share.percent <= 1 && share.residentBytes <= 90e6,
  );
  await load.ended;
}

const fastAgent = await startAgent(agentMain, source, "100ms", 19_402);
const energy = energyReader();
const integrated = async (/** @type {typeof fastAgent} */ agent) =>
  valueOf(parsePage(await agent.page()), "gpu_energy_integrated_joules_total") ?? Number.NaN;
const mixed = await startLoad(
  `idle:${seconds(4)},matmul:${seconds(12)},idle:${seconds(5)},copy:${seconds(12)},bursts:${seconds(14)},idle:${seconds(5)},matmul:${seconds(6)},idle:${seconds(4)}`,
);
const start = {
  hardware: energy(),
  fast: await integrated(fastAgent),
  slow: await integrated(slowAgent),
};
const share = await shareOf(fastAgent, seconds(60));
const end = {
  hardware: energy(),
  fast: await integrated(fastAgent),
  slow: await integrated(slowAgent),
};
const used = end.hardware - start.hardware;
const off = (/** @type {"fast" | "slow"} */ which) =>
  (100 * (end[which] - start[which] - used)) / used;
note(
  "integrated energy over a mixed minute, 10 Hz",
  `${(end.fast - start.fast).toFixed(0)} J against ${used.toFixed(0)} J: ${off("fast").toFixed(2)} %`,
  "within 1 %",
  Math.abs(off("fast")) <= 1,
);
note(
  "integrated energy over the same minute, 1 s",
  `${(end.slow - start.slow).toFixed(0)} J: ${off("slow").toFixed(2)} %`,
  "told, not bound",
  true,
);
note(
  "agent at 10 Hz, everything on",
  `${share.percent.toFixed(2)} % of a core, ${(share.residentBytes / 1e6).toFixed(1)} MB`,
  "≤ 3 %",
  share.percent <= 3,
);
await mixed?.ended;
const late = parsePage(await fastAgent.page()).filter(
  ({ name, labels }) => name === "gpulse_source_reads_total" && labels["outcome"] !== "ok",
);
note(
  "10 Hz reads that failed or were late",
  `${late.reduce((sum, { value }) => sum + value, 0)}`,
  "0",
  late.every(({ value }) => value === 0),
);
const skipped = valueOf(parsePage(await fastAgent.page()), "gpulse_source_skipped_ticks_total", {
  source: "nvidia",
  tier: "fast",
});
note("10 Hz ticks skipped in that time", `${skipped}`, "told, not bound", true);

await fastAgent.stop();
const scrapes = 200;
const { costOf } = await import("./machine.mjs");
const before = costOf(slowAgent.pid).cpuSeconds;
const startMs = performance.now();
for (let turn = 0; turn < scrapes; turn++) await slowAgent.page();
const scrape = {
  wallMs: (performance.now() - startMs) / scrapes,
  cpuMs: ((costOf(slowAgent.pid).cpuSeconds - before) * 1_000) / scrapes,
};
const perQuery = priceOf(
  options.smi,
  ["--query-gpu=utilization.gpu,power.draw,temperature.gpu", "--format=csv"],
  10,
);
const perXml = priceOf(options.smi, ["-q", "-x"], 10);
const priced = (/** @type {{ wallMs: number, cpuMs: number }} */ { wallMs, cpuMs }) =>
  `${cpuMs.toFixed(2)} ms of processor, ${wallMs.toFixed(1)} ms wall`;
note("a scrape of our page", priced(scrape), "beside nvidia-smi", true);
note("nvidia-smi --query-gpu, three fields", priced(perQuery), "told", true);
note("nvidia-smi -q -x", priced(perXml), "told", true);
await slowAgent.stop();

writeFileSync(
  path.join(out, "check.json"),
  `${JSON.stringify({ machine, results, bench, idle, loaded, stats, scrape, perQuery, perXml }, null, 1)}\n`,
);
writeFileSync(path.join(out, "check.md"), asMarkdown({ machine, results, bench, idle, loaded }));
const failed = results.filter(({ ok }) => !ok).length;
process.stdout.write(failed === 0 ? "everything within bounds\n" : `${failed} out of bounds\n`);
process.exit(failed === 0 ? 0 : 1);
