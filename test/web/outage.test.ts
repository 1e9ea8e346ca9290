/** An outage of the hub in a real browser: its time is a gap in every chart, never a line or a state through it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { openBrowser, openPage } from "./browser.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
/** A stop ends the series itself, however short it is; after a kill the next start does, if the outage was longer than 15 s. */
const outages = {
  stopped: { graceMs: 30_000, downMs: 5_000, lateMs: 1_000 },
  killed: { graceMs: 0, downMs: 20_000, lateMs: 6_000 },
} as const;

describe.skipIf("missing" in chromium)(
  `a hub that was down in a real browser${skipped}`,
  { timeout: 240_000 },
  () => {
    let browser: Browser;
    let folder: string;
    beforeAll(async () => {
      await ensureBuild();
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      folder = await mkdtemp(path.join(tmpdir(), "gpulse-outage-"));
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await rm(folder, { recursive: true, force: true });
    });

    test.each(["stopped", "killed"] as const)("%s: the outage is a gap", async (how) => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/`;
      const start = async (): Promise<RunningProcess> => {
        const flags = ["--source", "sim:2", "--port", String(port), "--no-open"];
        const data = ["--data", path.join(folder, how)];
        const hub = startProcess(process.execPath, [program, "up", ...flags, ...data], {
          name: "gpulse up",
        });
        await hub.waitForUrl(`${url}-/ready`, 120_000);
        return hub;
      };
      const first = await start();
      await sleep(15_000);
      await first.stop(outages[how].graceMs);
      const downMs = Date.now();
      await sleep(outages[how].downMs);
      const startMs = Date.now();
      const second = await start();
      const upMs = Date.now();
      await sleep(10_000);
      const { page } = await openPage(browser, `${url}gpu?range=5m`, {}, ".chart .u-over");
      // The row of a state that was on before and after has a span without readings between.
      const lost = page.locator(".timelines li", { hasText: "working" }).locator("i[data-absent]");
      await expect.poll(() => lost.count(), { timeout: 30_000 }).toBeGreaterThan(0);
      const params = new URLSearchParams({
        query: 'gpu_power_watts{gpu="0"}',
        start: String(downMs / 1_000 - 10),
        end: String(upMs / 1_000 + 5),
        step: "1",
      });
      const answer = await fetch(`${url}api/v1/query_range?${params.toString()}`);
      const { data } = (await answer.json()) as {
        data: { result: readonly { values: readonly (readonly [number, string])[] }[] };
      };
      const times = data.result.flatMap(({ values }) => values.map(([at]) => at * 1_000));
      const during = times.filter((ms) => ms > downMs + outages[how].lateMs && ms < startMs);
      expect(times.length).toBeGreaterThan(5);
      expect(during).toEqual([]);
      await page.context().close();
      await second.stop();
    });
  },
);
