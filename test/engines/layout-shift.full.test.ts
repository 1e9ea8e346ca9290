/**
 * Loading must not move visible content: measures the cumulative layout shift of every page with the browser's own
 * metric.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { pageNames } from "../../src/hub/page-names.ts";
import { openBrowser } from "../web/browser.ts";
import { type RunningUp, startUp } from "../web/up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
/** Browsers rate up to 0.1 as good. */
const MOST = 0.05;

const observe = `
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput)
        window.shifts.push({ value, of: sources.map(({ node }) => node?.className ?? node?.nodeName) });
  }).observe({ type: "layout-shift", buffered: true });`;

describe.skipIf("missing" in chromium)(
  `layout shift in a real browser${skipped}`,
  { timeout: 120_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort(), "sim:8");
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    test.each(
      pageNames.flatMap((name) => [
        { name, width: 1440 },
        { name, width: 390 },
      ]),
    )("$name at $width px loads without moving what is on screen", async ({ name, width }) => {
      const context = await browser.newContext({ viewport: { width, height: 900 } });
      await context.addInitScript(observe);
      const page = await context.newPage();
      await page.goto(`${up.url}${name === "fleet" ? "" : name}`);
      await page.waitForSelector("main");
      await page.waitForTimeout(4_000);
      const shifts = await page.evaluate<{ value: number; of: unknown[] }[]>("window.shifts");
      const sum = shifts.reduce((total, { value }) => total + value, 0);
      const largest = shifts.toSorted((one, other) => other.value - one.value).slice(0, 3);
      expect(sum, JSON.stringify(largest)).toBeLessThanOrEqual(MOST);
      await context.close();
    });
  },
);
