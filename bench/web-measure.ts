/** The cost of a page in a real Chromium, from its own counters: time to the first chart, cost of a live update, and memory. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, CDPSession, Page } from "playwright-core";
import { waitUntil } from "../engines/wait.ts";

/** Counts live frames, and records when the awaited element is first on screen: checked before every paint. */
const watch = (drawn: string): string => `
  // The page's own stream, not one in a worker that several pages share: what it costs is seen here.
  delete window.SharedWorker;
  window.frames_ = 0;
  const add = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (type, listener, options) {
    if (type === "frame" || type === "changes") add.call(this, type, () => { window.frames_ += 1; });
    return add.call(this, type, listener, options);
  };
  const drawn = ${JSON.stringify(drawn)};
  const look = () => {
    if (window.firstChart !== undefined) return;
    if (drawn !== "" && document.querySelector(drawn) !== null) window.firstChart = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);`;

const VIEW = { width: 1440, height: 900 };
const FIRST_MS = 180_000;

export interface OpenedPage {
  readonly page: Page;
  readonly firstChartMs: number;
  close(): Promise<void>;
}

/** Opens a page with an empty cache. `drawn`: the selector of a drawn chart; empty if the page reports it itself. */
export async function openFresh(browser: Browser, url: string, drawn: string): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: VIEW, colorScheme: "dark" });
  await context.addInitScript(watch(drawn));
  const page = await context.newPage();
  await page.goto(url, { timeout: FIRST_MS });
  const firstChartMs = await waitUntil(
    { what: `the first chart of ${url}`, timeoutMs: FIRST_MS },
    () => page.evaluate<number | undefined>("window.firstChart"),
  );
  return { page, firstChartMs, close: () => context.close() };
}

export interface Update {
  /** Milliseconds of script per live frame, including parsing. */
  readonly scriptMs: number;
  /** The same with style, layout and painting on the main thread. */
  readonly taskMs: number;
  readonly frames: number;
}

export async function measureUpdates(page: Page, seconds: number): Promise<Update> {
  const session = await page.context().newCDPSession(page);
  // By the thread's own clock: on a busy machine the wall clock includes other work.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const frames = (): Promise<number> => page.evaluate<number>("window.frames_");
  const [framesBefore, before] = [await frames(), await counters(session)];
  await sleep(seconds * 1_000);
  const [framesAfter, after] = [await frames(), await counters(session)];
  await session.detach();
  const count = framesAfter - framesBefore;
  const per = (name: string): number =>
    (1_000 * ((after[name] ?? 0) - (before[name] ?? 0))) / count;
  return { scriptMs: per("ScriptDuration"), taskMs: per("TaskDuration"), frames: count };
}

async function counters(session: CDPSession): Promise<Readonly<Record<string, number>>> {
  const { metrics } = await session.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

/** Bytes of the heap in use after a collection. */
export async function heldBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}
