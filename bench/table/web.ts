/** The web page in a real Chromium beside the same data drawn by ECharts. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { CELL, CURVE, openBrowser, SETTLE_MS, withFleet } from "../web-fleet.ts";
import { heldBytes, measureUpdates, openFresh } from "../web-measure.ts";
import type { Pages } from "../web-pages.ts";
import { alternate, type Area, type Context, line } from "./measurement.ts";

const peer = "ECharts";
const trips =
  "the data comes with the HTML, but the hub makes that while it reads and stores the fleet, and the page draws its frame, figures and tables with the chart; the peer is one chart from a server that has nothing else to do.";
const dom =
  "the page has a table, buttons and figures for each GPU, which are laid out and painted as HTML; the peer paints two canvases. In a trace of 8 GPUs 3 ms of each update were style and layout, and 4 ms painting and layers.";

export const web: Area = {
  name: "web",
  title: "The page beside ECharts",
  about:
    "headless Chromium, 1440 × 900, painted without a GPU; the peer draws the same live data of the same hub with ECharts; every file and reading of both goes through the same proxy. First chart from navigation with an empty cache; scripting and main thread by Chromium's own counters, in the thread's time, a live update of the fleet page.",
  more: "npm run bench:web",
  measurements: [
    line("web.first.fleet", "first chart, fleet of 8 GPUs", peer, "time", "ms", { behind: trips }),
    line("web.first.gpu", "first chart, curves of one GPU", peer, "time", "ms", { behind: trips }),
    line("web.heap", "heap held after collecting, fleet of 8", peer, "memory", "MB"),
    ...[8, 256].flatMap((gpus) => [
      line(`web.script.${gpus}`, `scripting a live update, ${gpus} GPUs`, peer, "processor", "ms", {
        behind: dom,
      }),
      line(`web.task.${gpus}`, `main thread a live update, ${gpus} GPUs`, peer, "processor", "ms", {
        behind: dom,
      }),
    ]),
  ],
  measure: async (context) => {
    const browser = await openBrowser();
    try {
      await withFleet(8, async (pages) => {
        await firstCharts(context, browser, pages);
        await updates(context, browser, pages, 8);
      });
      await withFleet(256, async (pages) => updates(context, browser, pages, 256));
    } finally {
      await browser.close();
    }
  },
};

async function firstCharts(
  { full, put, progress }: Context,
  browser: Browser,
  { gpulse, echarts }: Pages,
): Promise<void> {
  const rounds = full ? 9 : 5;
  const views = [
    ["web.first.fleet", gpulse, CELL, `${echarts}?view=fleet`],
    ["web.first.gpu", `${gpulse}gpu?range=5m`, CURVE, `${echarts}?view=gpu`],
  ] as const;
  const open = async (url: string, drawn: string): Promise<number> => {
    const opened = await openFresh(browser, url, drawn);
    await opened.close();
    return opened.firstChartMs;
  };
  for (const [id, ours, drawn, theirs] of views) {
    progress(`${id}: ${rounds} rounds`);
    const own: number[] = [];
    const other: number[] = [];
    await alternate(
      rounds,
      async () => void own.push(await open(ours, drawn)),
      async () => void other.push(await open(theirs, "")),
    );
    own.forEach((value, at) => put(id, value, other[at] ?? Number.NaN));
  }
}

/** One page at a time, in turn: two at once would compete for the processor. */
async function updates(
  { full, put, progress }: Context,
  browser: Browser,
  pages: Pages,
  gpus: number,
): Promise<void> {
  const [rounds, seconds] = full ? [4, 15] : [2, 8];
  const look = async (url: string, drawn: string) => {
    const opened = await openFresh(browser, url, drawn);
    await sleep(SETTLE_MS / 2);
    const found = await measureUpdates(opened.page, seconds);
    const heap = gpus === 8 ? await heldBytes(opened.page) : 0;
    await opened.close();
    return { ...found, heap };
  };
  const own: Awaited<ReturnType<typeof look>>[] = [];
  const other: Awaited<ReturnType<typeof look>>[] = [];
  progress(`live updates of ${gpus} GPUs: ${rounds} rounds`);
  await alternate(
    rounds,
    async () => void own.push(await look(pages.gpulse, CELL)),
    async () => void other.push(await look(`${pages.echarts}?view=fleet`, "")),
  );
  own.forEach((mine, at) => {
    const theirs = other[at];
    if (theirs === undefined) throw new Error("BUG: a round has two halves");
    put(`web.script.${gpus}`, mine.scriptMs, theirs.scriptMs);
    put(`web.task.${gpus}`, mine.taskMs, theirs.taskMs);
    if (gpus === 8) put("web.heap", mine.heap / 1e6, theirs.heap / 1e6);
  });
}
