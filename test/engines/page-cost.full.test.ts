/** What an open fleet page of 2,000 GPUs costs a browser: bytes on the wire, and memory that does not grow. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CELL, openBrowser, withFleet } from "../../bench/web-fleet.ts";
import { heldBytes, openFresh } from "../../bench/web-measure.ts";
import { fillHistory, measureTransfer } from "../../bench/web-transfer.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

const [GPUS, VISITS] = [2_000, 5] as const;
const [MOST_FIRST_BYTES, MOST_BYTES_PER_SECOND] = [600_000, 40_000] as const;
/** The leak that this looks for grew by 170 kB each second; histories have a fixed size. */
const [WARM_MS, WATCHED_MS, MOST_GROWTH_BYTES] = [30_000, 60_000, 4_000_000] as const;

describe.skipIf("missing" in chromium)(
  `the cost of a page of ${GPUS} GPUs${skipped}`,
  { timeout: 900_000 },
  () => {
    let browser: Browser;
    beforeAll(async () => {
      await ensureBuild();
      browser = await openBrowser();
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
    });

    test("every first visit transfers at most 600 kB, and then at most 40 kB a second", async () => {
      await withFleet(GPUS, async (pages) => {
        await fillHistory(browser, pages);
        for (let visit = 0; visit < VISITS; visit += 1) {
          const found = await measureTransfer(browser, pages, 10);
          expect(found.parts.length).toBeGreaterThan(10);
          expect(found.firstBytes, JSON.stringify(found.parts)).toBeLessThanOrEqual(
            MOST_FIRST_BYTES,
          );
          expect(found.bytesPerSecond).toBeLessThanOrEqual(MOST_BYTES_PER_SECOND);
        }
      });
    });

    test("its heap does not grow while it is open", async () => {
      await withFleet(GPUS, async ({ gpulse }) => {
        const opened = await openFresh(browser, gpulse, CELL);
        await sleep(WARM_MS);
        const before = await heldBytes(opened.page);
        await sleep(WATCHED_MS);
        expect((await heldBytes(opened.page)) - before).toBeLessThan(MOST_GROWTH_BYTES);
        await opened.close();
      });
    });
  },
);
