/**
 * The web page in a real Chromium beside the same data drawn by ECharts: `npm run bench:web`. Measures the time from navigation
 * to the first chart with an empty cache, the scripting time of each live update of 8, 256 and 2,000 simulated GPUs, and the heap
 * after some minutes live. `-- --minutes 10` observes memory for ten minutes, `--gpus 8,256` other fleets, `--runs 9` more first
 * charts, `--seconds 30` longer updates, `--only transfer,memory` a part of it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Browser } from "playwright-core";
import { grouped, median, number, say } from "./hub-print.ts";
import { CELL, CURVE, openBrowser, SETTLE_MS, withFleet } from "./web-fleet.ts";
import { heldBytes, measureUpdates, openFresh } from "./web-measure.ts";
import type { Pages } from "./web-pages.ts";
import { fillHistory, measureTransfer, type Transfer } from "./web-transfer.ts";

const { values: given } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    gpus: { type: "string", default: "8,256,2000" },
    runs: { type: "string", default: "5" },
    seconds: { type: "string", default: "20" },
    only: { type: "string", default: "charts,updates,transfer,memory" },
  },
});
const [minutes, runs, seconds] = [given.minutes, given.runs, given.seconds].map(Number) as [
  number,
  number,
  number,
];
const fleets = given.gpus.split(",").map(Number);
if ([minutes, runs, seconds, ...fleets].some((value) => !(value > 0)))
  throw new Error("--minutes, --runs, --seconds and --gpus take numbers above 0.");

async function firstCharts(browser: Browser, { gpulse, echarts }: Pages): Promise<void> {
  const time = async (url: string, drawn: string): Promise<number> => {
    const found: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      const opened = await openFresh(browser, url, drawn);
      found.push(opened.firstChartMs);
      await opened.close();
    }
    return median(found);
  };
  say(`\n### From navigation to the first chart, empty cache, medians of ${runs}\n`);
  say("| | gpulse | ECharts | ratio |\n|---|---|---|---|");
  const rows = [
    ["fleet: every GPU as a cell", gpulse, CELL, `${echarts}?view=fleet`],
    ["one GPU: curves of five minutes", `${gpulse}gpu?range=5m`, CURVE, `${echarts}?view=gpu`],
  ] as const;
  for (const [what, ours, drawn, theirs] of rows) {
    const [own, other] = [await time(ours, drawn), await time(theirs, "")];
    say(`| ${what} | ${number(own)} ms | ${number(other)} ms | ${number(own / other)} |`);
  }
}

async function updates(browser: Browser, gpus: number, pages: Pages): Promise<void> {
  const measure = async (url: string, drawn: string) => {
    const opened = await openFresh(browser, url, drawn);
    await sleep(SETTLE_MS);
    const found = await measureUpdates(opened.page, seconds);
    await opened.close();
    return found;
  };
  const own = await measure(pages.gpulse, CELL);
  const other = await measure(`${pages.echarts}?view=fleet`, "");
  const cells = [
    grouped(gpus),
    `${number(own.scriptMs)} ms`,
    `${number(other.scriptMs)} ms`,
    number(own.scriptMs / other.scriptMs),
    `${number(own.taskMs)} ms`,
    `${number(other.taskMs)} ms`,
    `${own.frames} and ${other.frames}`,
  ];
  say(`| ${cells.join(" | ")} |`);
}

async function transfer(browser: Browser, gpus: number, pages: Pages): Promise<void> {
  await fillHistory(browser, pages);
  const visits: Transfer[] = [];
  for (let run = 0; run < runs; run += 1)
    visits.push(await measureTransfer(browser, pages, seconds / runs));
  const kb = (bytes: number): string => `${number(bytes / 1e3)} kB`;
  const range = (values: readonly number[]): string =>
    `${kb(Math.min(...values))} to ${kb(Math.max(...values))}`;
  const largest = (visits[0]?.parts ?? []).slice(0, 4);
  const cells = [
    grouped(gpus),
    range(visits.map(({ firstBytes }) => firstBytes)),
    largest.map(({ name, bytes }) => `${kb(bytes)} ${name.split("?")[0]}`).join(", "),
    range(visits.map(({ bytesPerUpdate }) => bytesPerUpdate)),
    range(visits.map(({ bytesPerSecond }) => bytesPerSecond)),
  ];
  say(`| ${cells.join(" | ")} |`);
}

async function memory(browser: Browser, gpus: number, pages: Pages): Promise<void> {
  const rows = [
    ["gpulse, fleet", pages.gpulse, CELL],
    ["gpulse, one GPU", `${pages.gpulse}gpu?range=5m`, CURVE],
    ["ECharts, fleet", `${pages.echarts}?view=fleet`, ""],
  ] as const;
  const opened = await Promise.all(
    rows.map(async ([, url, drawn]) => openFresh(browser, url, drawn)),
  );
  await sleep(SETTLE_MS);
  const held = async () => Promise.all(opened.map(async ({ page }) => heldBytes(page)));
  const before = await held();
  await sleep(minutes * 60_000);
  const after = await held();
  rows.forEach(([name], at) => {
    const [first = Number.NaN, last = Number.NaN] = [before[at], after[at]];
    const mb = (bytes: number): string => `${number(bytes / 1e6)} MB`;
    say(`| ${grouped(gpus)} | ${name} | ${mb(first)} | ${mb(last)} | ${mb(last - first)} |`);
  });
  for (const one of opened) await one.close();
}

const updatesHead = `
### A live update of the fleet page, mean of ${seconds} s

| GPUs | scripting, gpulse | scripting, ECharts | ratio | main thread, gpulse | main thread, ECharts | updates |
|---|---|---|---|---|---|---|`;
const transferHead = `
### What the fleet page transfers, empty cache, with headers and as encoded on the wire, ${runs} visits

| GPUs | first visit | its largest parts | an update | updates and repeated requests a second |
|---|---|---|---|---|`;
const memoryHead = `
### The heap after collecting, after ${number(minutes)} min live

| GPUs | page | after the first chart | after it | growth |
|---|---|---|---|---|`;

const parts = given.only.split(",");
const isWanted = (part: "charts" | "updates" | "transfer" | "memory"): boolean =>
  parts.includes(part);

async function eachFleet(
  head: string,
  measure: (browser: Browser, gpus: number, pages: Pages) => Promise<void>,
): Promise<void> {
  say(head);
  for (const gpus of fleets) await withFleet(gpus, async (pages) => measure(browser, gpus, pages));
}

const browser = await openBrowser();
try {
  say(
    `npm run bench:web -- --minutes ${minutes} --gpus ${fleets.join(",")} --runs ${runs} --seconds ${seconds}`,
  );
  say(`Chromium ${browser.version()}, headless, 1440 × 900 pixels, painted without a GPU`);
  if (isWanted("charts")) await withFleet(8, async (pages) => firstCharts(browser, pages));
  if (isWanted("updates")) await eachFleet(updatesHead, updates);
  if (isWanted("transfer")) await eachFleet(transferHead, transfer);
  if (isWanted("memory")) await eachFleet(memoryHead, memory);
} finally {
  await browser.close();
}
