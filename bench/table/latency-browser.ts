/**
 * Measures when an agent's reading is on screen: in the hub's page, and in a page that polls a Prometheus that scrapes the agent.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type BrowserContext, chromium } from "playwright-core";
import { startHub } from "../../engines/hub.ts";
import { requiredTool } from "../../engines/cache.ts";
import { startAgent } from "../../engines/program.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { waitUntil } from "../../engines/wait.ts";
import { middle } from "./band.ts";
import type { Context } from "./measurement.ts";

const metric = 'gpu_power_watts{gpu="0"}';

/** After the page has handled a frame, waits for a paint and a turn of the event loop: then the reading is on screen. */
const ours = `
  window.painted = [];
  delete window.SharedWorker;
  const add = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (type, listener, options) {
    if (type !== "frame" && type !== "changes") return add.call(this, type, listener, options);
    return add.call(this, type, (event) => {
      const answer = typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event);
      const { timeMs, rows, ages, ageOf } = JSON.parse(event.data);
      const age = (ages === undefined ? rows[0]?.ageMs : ages[ageOf[0]])?.fast;
      if (age !== undefined)
        requestAnimationFrame(() => setTimeout(() => window.painted.push({ readMs: timeMs - age, atMs: Date.now() })));
      return answer;
    }, options);
  };`;

/** A page without a stream: polls every second, and shows new values. */
const theirs = (url: string, query: string): string => `
  <!doctype html><body><h1 id="value"></h1><script>
    window.painted = [];
    let last;
    const ask = async () => {
      const answer = await fetch(${JSON.stringify(`${url}/api/v1/query?query=`)} + encodeURIComponent(${JSON.stringify(query)}));
      const value = (await answer.json()).data.result[0]?.value[1];
      if (value === undefined || value === last) return;
      last = value;
      document.getElementById("value").textContent = value + " W";
      requestAnimationFrame(() => setTimeout(() => window.painted.push({ value: Number(value), atMs: Date.now() })));
    };
    setInterval(ask, 1000);
  </script></body>`;

interface Painted {
  readonly readMs?: number;
  readonly value?: number;
  readonly atMs: number;
}

/** The offset of a scrape within Prometheus' interval depends on the target's labels: several jobs give several offsets. */
const jobs = 8;

export async function browserLatency({ full, put, progress }: Context): Promise<void> {
  const [rounds, seconds] = full ? [12, 15] : [6, 6];
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-latency-"));
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const hub = await startHub({ dataDir: folder });
    stops.unshift(() => hub.stop());
    const agent = await startAgent([
      "--source",
      "sim:8",
      "--interval",
      "1s",
      "--push",
      hub.url,
      "--spool",
      path.join(folder, "spool"),
    ]);
    stops.unshift(() => agent.stop());
    const prometheus = await startPrometheus({
      path: requiredTool("prometheus"),
      logLevel: "warn",
      config: {
        global: { scrape_interval: "1s", scrape_timeout: "1s" },
        scrape_configs: Array.from({ length: jobs }, (_, at) => ({
          job_name: `job-${at}`,
          honor_labels: true,
          static_configs: [{ targets: [new URL(agent.url).host], labels: { place: String(at) } }],
        })),
      },
    });
    stops.unshift(() => prometheus.stop());
    const browser = await chromium.launch({
      executablePath: requiredTool("chromium"),
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
    });
    stops.unshift(() => browser.close());
    const own = await browser.newContext();
    await own.addInitScript(ours);
    const page = await own.newPage();
    await page.goto(hub.url);
    const painted = (): Promise<Painted[]> => page.evaluate<Painted[]>("window.painted.splice(0)");
    await waitUntil({ what: "the hub's page to show readings", timeoutMs: 60_000 }, async () =>
      (await painted()).length > 0 ? true : undefined,
    );
    await sleep(5_000);
    const other = await browser.newContext();
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1} of ${rounds}: both pages open for ${seconds} s`);
      // A different offset within the second every round, for the page as for the scrape.
      await sleep((round * 1_000) / rounds);
      await painted();
      const query = `gpu_power_watts{gpu="0",place="${round % jobs}"}`;
      const polled = await poll(other, theirs(prometheus.url, query), seconds);
      const readings = await readingsOf(hub.url);
      const shown = (await painted()).flatMap(({ readMs, atMs }) =>
        readMs === undefined ? [] : [{ readMs, waitMs: atMs - readMs }],
      );
      // A reading counts when it is first on screen; the page also gets old ones if there is nothing new.
      const first = new Map<number, number>();
      for (const { readMs, waitMs } of shown)
        first.set(readMs, Math.min(waitMs, first.get(readMs) ?? waitMs));
      const waits = polled.flatMap(({ value, atMs }) => {
        const read = readings.findLast((one) => one.value === value && one.timeMs <= atMs);
        return read === undefined ? [] : [atMs - read.timeMs];
      });
      put("latency.browser", middle([...first.values()]), middle(waits));
    }
  } finally {
    for (const stop of stops) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function poll(context: BrowserContext, html: string, seconds: number): Promise<Painted[]> {
  const page = await context.newPage();
  await page.setContent(html);
  await sleep(seconds * 1_000);
  const painted = await page.evaluate<Painted[]>("window.painted");
  await page.close();
  // The first may have been on screen long before the measurement.
  return painted.slice(1);
}

/** The agent's readings and their times, as stored by the hub. */
async function readingsOf(hub: string): Promise<{ timeMs: number; value: number }[]> {
  const url = `${hub}/api/v1/query?query=${encodeURIComponent(`${metric}[1m]`)}`;
  const answer = (await (await fetch(url)).json()) as {
    data: { result: readonly { values: readonly (readonly [number, string])[] }[] };
  };
  return (answer.data.result[0]?.values ?? []).map(([seconds, value]) => ({
    timeMs: seconds * 1_000,
    value: Number(value),
  }));
}
