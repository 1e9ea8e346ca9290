/** A GPU whose clocks are stuck: its page says in one sentence what, since when, what it costs, why, its peers, and what to do. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { openBrowser, openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

const scenario = `
fleet:
  - { model: H200, count: 4 }
  - { model: H100, count: 2 }
workloads:
  - { gpus: all, run: training }
faults:
  - { fault: stuck-clocks, gpu: 2, at: 60s, for: 1h }
  - { fault: xid, gpu: 4, at: 20s, for: 1h, amount: 79 }
  - { fault: ecc-growth, gpu: 5, at: 20s, for: 1h, amount: 600 }
`;

describe.skipIf("missing" in chromium)(
  `a diagnosis in a real browser${skipped}`,
  { timeout: 300_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let folder = "";
    let uuids: readonly string[] = [];

    beforeAll(async () => {
      await ensureBuild();
      folder = await mkdtemp(path.join(tmpdir(), "gpulse-diagnosis-"));
      const file = path.join(folder, "lab.yaml");
      await writeFile(file, scenario);
      up = await startUp(await freePort(), `sim:6?scenario=${file}`);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      const fleet = (await (await fetch(`${up.url}api/fleet`)).json()) as {
        devices: { uuid: string; index: number }[];
      };
      uuids = fleet.devices
        .toSorted((one, other) => one.index - other.index)
        .map(({ uuid }) => uuid);
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await up?.process.stop();
      await rm(folder, { recursive: true, force: true });
    });

    test("stuck clocks are one sentence with onset, cost, cause, peers, next step and runbook", async () => {
      const { page, complaints } = await openPage(
        browser,
        `${up.url}gpu?uuid=${uuids[2]}&range=5m`,
        {},
        ".chart .u-over",
      );
      const banner = page.locator(".health .banner").first();
      await expect
        .poll(() => banner.innerText(), { timeout: 240_000, interval: 1_000 })
        .toMatch(/(?:since \d\d:\d\d|for at least) .*−6\d % clock\./);
      const text = await banner.innerText();
      expect(text).toMatch(/Its 3 peers here are at a median of .+; none has a warning\./);
      expect(text).toMatch(/Next: .{10,}/);
      expect(await page.locator(".health .banner:visible").count()).toBe(1);
      await banner.getByRole("link", { name: "Runbook" }).click();
      await expect.poll(() => page.locator("h2").innerText()).toMatch(/^Gpu/);
      await page.goBack();
      await page.waitForSelector(".health .banner");
      // At 56 % of its power limit, no power cap slows it down, whatever the driver reports.
      const words = () => page.locator(".health").allInnerTexts();
      expect((await words()).join()).not.toMatch(/power cap/i);
      expect(await layoutFaults(page, "gpu-diagnosis")).toEqual([]);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test.each([
      [4, "an Xid", /Xid 79/],
      [5, "growing memory errors", /memory (?:had|errors)|uncorrectable|corrected/i],
    ] as const)(
      "GPU %i has %s with its meaning as the cause, and the next step",
      async (index, _, cause) => {
        const { page } = await openPage(
          browser,
          `${up.url}gpu?uuid=${uuids[index]}&range=5m`,
          {},
          ".chart .u-over",
        );
        const banner = page.locator(".health .banner").first();
        await expect
          .poll(() => banner.innerText(), { timeout: 240_000, interval: 1_000 })
          .toMatch(/(?:since \d\d:\d\d|for at least) [\s\S]*Next: .{10,}/);
        expect(await banner.innerText()).toMatch(cause);
        expect(await banner.innerText()).toMatch(/Its one peer here/);
        await page.context().close();
      },
    );
  },
);
