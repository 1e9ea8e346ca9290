import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { openBrowser, openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import {
  mixedHour,
  mixedUuid,
  type PastDays,
  pastDays,
  pastUuids,
  steadyPeers,
} from "./past-days.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

/** The page's format of days, in the time zone that it shares with this test. */
function localDay(ms: number): string {
  const at = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

describe.skipIf("missing" in chromium)(
  `analytics in a real browser${skipped}`,
  { timeout: 90_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let past: PastDays;
    let mixedFromMs: number;

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort(), "sim:2");
      const nowMs = Date.now();
      past = pastDays(nowMs - 2 * 3_600_000, 4);
      // The last whole hour, after the days above.
      mixedFromMs = new Date(nowMs).setMinutes(0, 0, 0) - 3_600_000;
      await importText(past.text);
      await importText(mixedHour(mixedFromMs));
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    const importText = async (text: string): Promise<void> => {
      const file = path.join(await mkdtemp(path.join(tmpdir(), "gpulse-past-")), "past.om");
      await writeFile(file, text);
      const done = await runGpulse(["import", file, "--format", "openmetrics", "--url", up.url]);
      if (done.code !== 0) throw new Error(`the import failed: ${done.stderr}`);
    };
    const days = () => {
      const iso = (ms: number) => new Date(ms).toISOString();
      return `analytics?from=${iso(past.fromMs)}&to=${iso(past.toMs)}`;
    };
    const open = (address: string) =>
      openPage(browser, up.url + address, {}, ".analysis .table tbody td");
    const cells = (page: Page, row: string) =>
      page.locator("tr", { hasText: row }).first().locator("td").allInnerTexts();

    test("days, hours, correlations, spikes and energy of a stored range, each as the API has it", async () => {
      const { page, complaints, strangers } = await open(`${days()}&kwh=0.5 €`);
      const fullDay = localDay(past.toMs - 2 * 86_400_000);
      const row = await cells(page, fullDay);
      expect(row.slice(1, 3)).toEqual(["24 / 24 h", "2"]);
      const params = new URLSearchParams({
        query: `sum(increase(gpu_energy_joules_total[4d]))`,
        time: String(past.toMs / 1_000),
      });
      const answer = (await (await fetch(`${up.url}api/v1/query?${params.toString()}`)).json()) as {
        data: { result: readonly { value: readonly [number, string] }[] };
      };
      const kwh = Number(answer.data.result[0]?.value[1]) / 3_600_000;
      const [energy = "", cost = ""] = await page.locator(".analysis-figures dd").allInnerTexts();
      expect(Math.abs(Number.parseFloat(energy) / kwh - 1)).toBeLessThan(0.02);
      const daily = await page.locator('td[data-column="energy"]').allInnerTexts();
      const summed = daily.reduce((sum, text) => sum + Number.parseFloat(text), 0);
      expect(daily.length).toBeGreaterThan(3);
      expect(summed).toBeCloseTo(Number.parseFloat(energy), 1);
      expect(Number.parseFloat(cost)).toBeCloseTo(Number.parseFloat(energy) / 2, 1);
      // Idle at night, busy by day: the lowest values are at night.
      const pattern = page.locator("table.pattern tbody tr", { hasText: fullDay }).locator("td");
      const shade = async (at: number) =>
        Number.parseFloat((await pattern.nth(at).textContent()) ?? "");
      expect(await shade(3)).toBeLessThan(15);
      expect(await shade(12)).toBeGreaterThan(50);
      const related = await page
        .locator("table.matrix tbody tr", { hasText: "power" })
        .first()
        .innerText();
      expect(related).toContain("1.00");
      const spikes = page.locator("section", { hasText: "Temperature spikes" }).locator("tbody tr");
      await expect
        .poll(() => spikes.allInnerTexts())
        .toEqual([expect.stringMatching(/#0.*\+(?:19|20)/s)]);
      expect(complaints).toEqual([]);
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("one GPU at a time, kept in the address, and a spike leads to the GPU at that time", async () => {
      const { page } = await open(days());
      await page.getByLabel("GPUs in scope").selectOption(`gpu:${pastUuids[1]}@past`);
      await expect
        .poll(() => new URL(page.url()).searchParams.get("scope"))
        .toBe(`gpu:${pastUuids[1]}@past`);
      await expect
        .poll(() => page.locator("section", { hasText: "Temperature spikes" }).innerText())
        .toContain("None in this range");
      await page.goBack();
      await page.locator(`a[href*="uuid=${pastUuids[0]}"]`).first().click();
      await page.waitForSelector('main[data-page="gpu"]');
      const { searchParams } = new URL(page.url());
      expect(searchParams.get("uuid")).toBe(`${pastUuids[0]}@past`);
      const [from, to] = ["from", "to"].map((name) => Date.parse(searchParams.get(name) ?? ""));
      expect(from).toBe(past.spikeMs - 1_800_000);
      expect(to).toBe(past.spikeMs + 1_800_000);
      await page.context().close();
    });

    test("means of mixed intervals are weighted by time, and the energy of a GPU without a counter is its power's", async () => {
      const iso = (ms: number) => new Date(ms).toISOString();
      const range = `from=${iso(mixedFromMs)}&to=${iso(mixedFromMs + 3_600_000)}`;
      const { page, complaints } = await open(`analytics?scope=gpu:${mixedUuid}@past&${range}`);
      const column = (name: string) =>
        page.locator(`td[data-column="${name}"]`).first().innerText();
      expect(await column("utilization")).toMatch(/^50\s%$/);
      expect(await column("power")).toMatch(/^300\sW$/);
      expect(await column("energy")).toMatch(/^0\.(?:29|30|31)\skWh$/);
      expect(await page.locator(".analysis-bar").innerText()).toContain("weighted by time");
      // The page of the GPU has the same means, in its table and in the legends of its charts.
      await page.goto(`${up.url}gpu?uuid=${mixedUuid}@past&${range}`);
      await page.waitForSelector(".chart .u-over");
      for (const [key, title, line, mean] of [
        ["utilization", "Utilisation", "GPU", 50],
        ["power", "Power", "board", 300],
      ] as const) {
        const cell = page.locator(`tr[data-reading="${key}"] > *`).nth(4);
        const legend = page
          .locator(".chart", { has: page.getByRole("heading", { name: title, exact: true }) })
          .locator(".chart-legend tbody tr", { hasText: line })
          .locator("td")
          .last();
        for (const figure of [cell, legend])
          await expect
            .poll(async () => Math.abs(Number.parseFloat(await figure.innerText()) / mean - 1))
            .toBeLessThan(0.015);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("an hour nobody read is blank and a day without readings is n/a, never zero", async () => {
      const from = new Date(past.fromMs - 86_400_000).toISOString();
      const { page } = await open(`analytics?from=${from}&to=${new Date(past.toMs).toISOString()}`);
      const row = await cells(page, localDay(past.fromMs - 86_400_000));
      expect(row[1]).toMatch(/^0 \/ /);
      expect(row.slice(2).every((text) => text === "n/a")).toBe(true);
      await page.context().close();
    });

    test("a short range says that it is one, and leads to a week", async () => {
      const { page } = await open("analytics");
      await page.getByRole("button", { name: "Show the last 7 days" }).click();
      await expect.poll(() => new URL(page.url()).searchParams.get("range")).toBe("7d");
      await page.context().close();
    });

    test("nothing overflows and axe finds nothing, at every width in both themes", async () => {
      const { page, complaints, strangers } = await open(days());
      await page.waitForSelector("table.matrix td");
      expect(await layoutFaults(page)).toEqual([]);
      expect([...complaints, ...strangers]).toEqual([]);
      await page.context().close();
    });

    test("a time dragged over a chart is asked what changed in it: series, peers, a link that shows it again", async () => {
      const at = (hour: number): string => {
        const time = new Date(past.toMs - 2 * 86_400_000);
        time.setHours(hour, 0, 0, 0);
        return time.toISOString();
      };
      const gpu = (uuid: string, from: number, to: number): string =>
        `${up.url}gpu?uuid=${uuid}@past&from=${at(from)}&to=${at(to)}`;
      // Last in this file, because the figures of the other tests would include these GPUs.
      await importText(steadyPeers(Date.parse(at(0)), Date.parse(at(14))));
      // Work begins at eight.
      const address = gpu(pastUuids[0], 6, 10);
      const { page, complaints } = await openPage(browser, address, {}, ".chart .u-over");
      const box = await page.locator(".chart .u-over").first().boundingBox();
      if (box === null) throw new Error("the chart has no box");
      const y = box.y + box.height / 2;
      await page.mouse.move(box.x + box.width * 0.45, y);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.7, y, { steps: 5 });
      await page.mouse.move(box.x + box.width * 0.9, y, { steps: 5 });
      await page.mouse.up();
      await page.getByRole("button", { name: "What changed here?" }).click();
      const dialog = page.getByRole("dialog", { name: "What changed here?" });
      const power = dialog.locator("li[data-metric=gpu_power_watts]");
      await power.waitFor();
      expect(await power.innerText()).toMatch(
        /GPU 0 of past\s+\d+[.\d]* W → \d+[.\d]* W\s+\d+ sigmas from its own history/,
      );
      expect(await power.innerText()).toMatch(/its 4 peers are at .+ sigmas apart/);
      for (const part of ["band", "line", "range", "ribbon"]) {
        const drawn = power.locator(`svg .${part}`).first();
        expect((await drawn.boundingBox())?.height, part).toBeGreaterThan(1);
      }
      expect(await dialog.locator("li").count()).toBe(3);
      expect(await layoutFaults(page, "what-changed")).toEqual([]);
      await page.reload();
      await power.waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await expect.poll(() => new URL(page.url()).searchParams.get("changed")).toBeNull();
      // The menu of the chart opens the dialog for the current range, without dragging. At noon the load is unchanged.
      await page.goto(gpu(pastUuids[1], 12, 13));
      await page.getByRole("button", { name: "Menu of Power" }).click();
      await page.getByRole("menuitem", { name: "What changed here?" }).click();
      await expect.poll(() => dialog.innerText()).toContain("Nothing moved on GPU 1 of past");
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  },
);
