/** The fleet at past moments: heatmap, table and totals come from the store, and never show the present under a past date. */
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
import { type PastDays, pastDays, pastUuids } from "./past-days.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const HOUR_MS = 3_600_000;

describe.skipIf("missing" in chromium)(
  `the fleet at a past moment in a real browser${skipped}`,
  { timeout: 120_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let past: PastDays;

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort(), "sim:2");
      past = pastDays(Date.now() - 26 * HOUR_MS, 1);
      const file = path.join(await mkdtemp(path.join(tmpdir(), "gpulse-past-")), "past.om");
      await writeFile(file, past.text);
      const done = await runGpulse(["import", file, "--format", "openmetrics", "--url", up.url]);
      if (done.code !== 0) throw new Error(`the import failed: ${done.stderr}`);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    const iso = (ms: number) => new Date(ms).toISOString();
    const address = () => `?from=${iso(past.toMs - 12 * HOUR_MS)}&to=${iso(past.toMs)}`;
    const open = (query: string) => openPage(browser, up.url + query);
    const attributes = async (page: Page, selector: string, name: string): Promise<string[]> =>
      Promise.all(
        (await page.locator(selector).all()).map(
          async (one) => (await one.getAttribute(name)) ?? "",
        ),
      );
    const powers = async (page: Page): Promise<number[]> =>
      (await page.locator("tr[data-uuid] .c-power .value").allInnerTexts()).map(parseFloat);
    const atMs = (page: Page) => Date.parse(new URL(page.url()).searchParams.get("at") ?? "");
    /** The store's own result, in the order of the table: by the GPU's index. */
    const stored = async (timeMs: number): Promise<number[]> => {
      const params = new URLSearchParams({
        query: "sort_by_label(gpu_power_watts{host='past'}, 'gpu')",
        time: String(timeMs / 1_000),
      });
      const body = (await (await fetch(`${up.url}api/v1/query?${params.toString()}`)).json()) as {
        data: { result: readonly { value: readonly [number, string] }[] };
      };
      return body.data.result.map(({ value }) => Math.round(Number(value[1])));
    };

    test("a past range shows its end, labelled as past, with the GPUs that were there", async () => {
      const { page, complaints } = await open(`${address()}&sort=gpu`);
      const uuids = () => attributes(page, "tr[data-uuid]", "data-uuid");
      await expect.poll(uuids).toEqual([...pastUuids]);
      expect(await powers(page)).toEqual(await stored(past.toMs));
      expect(await page.locator(".scrubber output").innerText()).toMatch(/^Past: .* ago$/);
      expect(await page.locator(".live-state").innerText()).toContain("Past");
      expect(await page.locator(".figure h2").allInnerTexts()).toContain("Energy in range");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("arrow keys move the moment; heatmap, table and the address follow, and a reload keeps it", async () => {
      const { page } = await open(`${address()}&sort=gpu`);
      await page.getByRole("slider", { name: "Moment shown" }).focus();
      await page.keyboard.press("Home");
      await expect.poll(() => atMs(page)).toBe(past.toMs - 12 * HOUR_MS);
      for (let press = 0; press < 40; press += 1) await page.keyboard.press("ArrowRight");
      await expect.poll(() => atMs(page)).toBe(past.toMs - 10 * HOUR_MS);
      const wanted = await stored(past.toMs - 10 * HOUR_MS);
      await expect.poll(() => powers(page)).toEqual(wanted);
      const shown = (await attributes(page, ".heatmap .cells button", "aria-label")).map(
        (label) => /\d+\s%/.exec(label)?.[0],
      );
      const utilization = page.locator("tr[data-uuid] .c-utilization .value");
      const plain = (texts: readonly (string | undefined)[]) =>
        texts.map((text) => text?.replace(/\s/, " "));
      expect(plain(shown)).toEqual(plain(await utilization.allInnerTexts()));
      await page.reload();
      await expect.poll(() => powers(page)).toEqual(wanted);
      await page.context().close();
    });

    test("moving back from the present stops there, and one click leads back to now", async () => {
      const { page } = await open("?range=5m");
      const slider = page.getByRole("slider", { name: "Moment shown" });
      expect(await slider.getAttribute("aria-valuetext")).toBe("now");
      await slider.focus();
      await page.keyboard.press("ArrowLeft");
      await expect.poll(() => new URL(page.url()).searchParams.get("from")).not.toBe(null);
      await expect.poll(() => page.locator(".scrubber output").innerText()).toMatch(/ago$/);
      const frozen = await powers(page);
      await page.waitForTimeout(2_500);
      expect(await powers(page)).toEqual(frozen);
      await page.getByRole("button", { name: "Back to now" }).click();
      await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("now");
      expect(new URL(page.url()).searchParams.get("at")).toBe(null);
      await page.context().close();
    });

    test("a GPU that had gone silent at the moment is silent, not working", async () => {
      const to = past.toMs + HOUR_MS / 2;
      const { page } = await open(`?from=${iso(past.toMs - HOUR_MS)}&to=${iso(to)}`);
      await expect
        .poll(() => page.locator("tr[data-uuid] .c-state").allInnerTexts())
        .toEqual(["silent", "silent"]);
      await page.context().close();
    });

    test("nothing overflows and axe finds nothing, at every width in both themes", async () => {
      const { page } = await open(address());
      expect(await layoutFaults(page, "fleet-past")).toEqual([]);
      await page.context().close();
    });
  },
);
