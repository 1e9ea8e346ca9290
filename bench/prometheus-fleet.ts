/**
 * From one command to the fleet page: `npm run bench:prometheus`. A Prometheus scrapes 1,000 GPUs with dcgm-exporter's default
 * metrics; `gpulse up --prometheus` is started and its page opened in Chromium. Prints the time until the fleet is drawn and the
 * number of queries to Prometheus in the minute after. `--gpus 200` for another fleet, `--shots DIR` for screenshots.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { requiredTool } from "../engines/cache.ts";
import { freePort } from "../engines/ports.ts";
import { startProcess } from "../engines/process.ts";
import { program } from "../engines/program.ts";
import { startPrometheus } from "../engines/prometheus.ts";
import { say } from "./hub-print.ts";
import { processCost } from "./process-cost.ts";
import { CELL, openBrowser } from "./web-fleet.ts";

const { values: given } = parseArgs({
  options: { gpus: { type: "string", default: "1000" }, shots: { type: "string" } },
});
const gpus = Number(given.gpus);
const gpusPerHost = 8;
const hosts = Math.ceil(gpus / gpusPerHost);
const scrapeMs = 15_000;

/** dcgm-exporter's default metrics that every card has, with small changes. */
function pageOf(host: number): string {
  const wave = Math.sin(Date.now() / 60_000 + host);
  return Array.from({ length: Math.min(gpusPerHost, gpus - host * gpusPerHost) }, (_, gpu) => {
    const uuid = `GPU-${String(host).padStart(4, "0")}-${gpu}`;
    const labels = `gpu="${gpu}",UUID="${uuid}",device="nvidia${gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="node-${host}"`;
    const util = Math.round(50 + 45 * wave);
    const readings = {
      SM_CLOCK: 1_980,
      MEM_CLOCK: 2_619,
      MEMORY_TEMP: 0,
      GPU_TEMP: 40 + util / 4,
      POWER_USAGE: 90 + 5.5 * util,
      TOTAL_ENERGY_CONSUMPTION: Date.now(),
      PCIE_REPLAY_COUNTER: 0,
      GPU_UTIL: util,
      MEM_COPY_UTIL: util / 2,
      XID_ERRORS: 0,
      FB_FREE: 81_559 - 700 * util,
      FB_USED: 700 * util,
    };
    return Object.entries(readings)
      .map(([name, value]) => `DCGM_FI_DEV_${name}{${labels}} ${value}\n`)
      .join("");
  }).join("");
}

const exporter = createServer((request, response) => {
  response.setHeader("content-type", "text/plain; version=0.0.4");
  response.end(pageOf(Number(/\d+/.exec(request.url ?? "")?.[0] ?? 0)));
}).listen(0, "127.0.0.1");
await once(exporter, "listening");
const target = `127.0.0.1:${(exporter.address() as AddressInfo).port}`;
const prometheus = await startPrometheus({
  path: requiredTool("prometheus"),
  config: {
    global: { scrape_interval: `${scrapeMs / 1_000}s` },
    scrape_configs: Array.from({ length: hosts }, (_, host) => ({
      job_name: `dcgm-${host}`,
      metrics_path: `/${host}`,
      static_configs: [
        { targets: [target], labels: { instance: `node-${host}:9400`, job: "dcgm" } },
      ],
    })),
  },
  logLevel: "warn",
  receiver: false,
});
const data = await mkdtemp(path.join(tmpdir(), "gpulse-bench-prometheus-"));
const browser = await openBrowser();

async function queries(): Promise<number> {
  const page = await (await fetch(`${prometheus.url}/metrics`)).text();
  const lines = page.matchAll(
    /^prometheus_http_requests_total\{.*handler="\/api\/v1\/query[^"]*".*\} (\d+)$/gm,
  );
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

const isDrawn = async (page: Page): Promise<boolean> => {
  const text = await page.locator("main").innerText();
  const digits = text.replaceAll(/[\s,.]/g, "");
  return digits.includes(`${gpus}GPUs`) && (await page.locator(CELL).count()) > 0;
};

async function takePictures(url: string, folder: string): Promise<void> {
  for (const [colorScheme, width, height] of [
    ["dark", 1_440, 900],
    ["light", 1_440, 900],
    ["dark", 390, 844],
    ["light", 390, 844],
  ] as const) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height } });
    const problems: string[] = [];
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    await page.goto(url);
    await page.locator(CELL).first().waitFor({ timeout: 60_000 });
    await sleep(2_000);
    await page.screenshot({ path: path.join(folder, `fleet-${colorScheme}-${width}.png`) });
    say(`- ${colorScheme} ${width}: ${problems.length} console errors ${problems.join("; ")}`);
    await page.close();
  }
}

try {
  while ((await prometheus.query("count(DCGM_FI_DEV_GPU_UTIL)"))[0]?.value[1] !== String(gpus))
    await sleep(500);
  // Two scrapes of history, as in a running Prometheus.
  await sleep(2 * scrapeMs);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const page = await browser.newPage();
  const startedMs = performance.now();
  const elapsed = (): string => ((performance.now() - startedMs) / 1_000).toFixed(2);
  const flags = ["--prometheus", prometheus.url, "--port", String(port), "--no-open"];
  const up = startProcess(process.execPath, [program, "up", ...flags, "--data", data], {
    name: "gpulse up",
  });
  try {
    await up.waitForUrl(url, 60_000);
    say(`page served after ${elapsed()} s`);
    await page.goto(url);
    while (!(await isDrawn(page))) await sleep(50);
    const { cpuSeconds } = processCost(up.pid);
    say(`fleet of ${gpus} GPUs drawn after ${elapsed()} s (goal 5 s)`);
    say(`processor time of gpulse until then: ${cpuSeconds.toFixed(2)} s`);
    say(
      `of the machine's ${cpus().length} cores ${loadavg()[0]?.toFixed(1) ?? ""} were asked for in the last minute`,
    );
    await sleep(30_000);
    const before = await queries();
    await sleep(60_000);
    const count = (await queries()) - before;
    say(`queries in a minute: ${count}, ${(count / 60).toFixed(2)} a second (goal 1)`);
    if (given.shots !== undefined) await takePictures(url, given.shots);
  } finally {
    await up.stop();
  }
} finally {
  await browser.close();
  await prometheus.stop();
  exporter.close();
  await rm(data, { recursive: true, force: true });
}
