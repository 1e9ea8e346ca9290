import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { packRun } from "../../src/runs/file/file.ts";
import { fixtureRun } from "../fixtures/runs/runs.ts";
import { openBrowser, openPage } from "./browser.ts";
import { drawnTexts, recordDrawing } from "./drawn.ts";
import { type RunningUp, startUp } from "./up.ts";
import { layoutFaults } from "./layouts.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const plots = ".chart .u-over";

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** Three repeats of each; the large one does the same work with 15 W more. */
const recordRuns = () =>
  Promise.all(
    [
      ["small", 230],
      ["large", 245],
    ].flatMap(([label, watts]) =>
      [-0.4, 0.1, 0.3].map(async (off, at) => {
        const run = fixtureRun({
          id: `${label}-${at}`,
          label: String(label),
          watts: Number(watts) + off,
        });
        return new Uint8Array((await packRun(run)).bytes);
      }),
    ),
  );

describe.skipIf("missing" in chromium)(
  `comparing in a real browser${skipped}`,
  { timeout: 90_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let uuids: readonly string[] = [];

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort(), "sim:?scenario=stress");
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      uuids = await waitUntil({ what: "two stored GPUs", timeoutMs: 30_000 }, async () => {
        const found = (await ask("gpu_info")).map(({ metric }) => metric["uuid"] ?? "");
        return found.length === 2 ? found : undefined;
      });
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    const ask = async (query: string, timeMs?: number): Promise<readonly Series[]> => {
      const params = new URLSearchParams({ query });
      if (timeMs !== undefined) params.set("time", String(timeMs / 1_000));
      const answer = await fetch(`${up.url}api/v1/query?${params.toString()}`);
      return ((await answer.json()) as { data: { result: Series[] } }).data.result;
    };
    const open = (address: string, ready = plots) => openPage(browser, up.url + address, {}, ready);
    const both = () => `compare?gpus=${uuids.join(",")}`;
    const query = (page: Page) => new URL(page.url()).searchParams;
    const chips = (page: Page) =>
      page.locator(".compare-chips li > span[data-tip]").allInnerTexts();
    const fact = (page: Page, label: string) =>
      page.locator(".figures tr", { hasText: label }).locator("td").allInnerTexts();

    test("two cards under the same stress stand side by side: curves, figures, differences", async () => {
      const { page, complaints, strangers } = await open(`${both()}&range=5m`);
      expect(await chips(page)).toEqual([
        expect.stringContaining("7800 XT"),
        expect.stringContaining("7700 XT"),
      ]);
      expect(await page.locator(".chart h3").allInnerTexts()).toContain("Power");
      const summary = await page.locator(".chart > p.unseen:not([role])").first().innerText();
      expect(summary).toMatch(/7800 XT #0: .*7700 XT #1: /);
      const rows = page.locator('.compare-table tbody[data-metric="power"] tr');
      await expect.poll(() => rows.count()).toBe(2);
      expect(await rows.nth(1).locator("td").nth(7).innerText()).toMatch(/^[+−].*\sW\s.*%\)$/);
      await expect.poll(() => page.locator(".compare-caveats").innerText()).toContain("simulated");
      expect(await page.locator(".compare-summary").innerText()).toMatch(
        /^(?:Clear|Likely|Cannot tell|No difference)\. .* against /,
      );
      expect(complaints).toEqual([]);
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("recorded runs stand side by side in words, curves and figures, from one address", async () => {
      const files = await recordRuns();
      for (const bytes of files) {
        const answer = await fetch(`${up.url}api/runs`, {
          method: "POST",
          headers: { "content-type": "application/octet-stream" },
          body: bytes,
        });
        expect(answer.status).toBe(201);
      }
      const { page, complaints } = await open("compare", ".compare-picker select");
      for (const label of ["small", "large"])
        await page.getByLabel("Add recorded runs").selectOption(label);
      await expect
        .poll(() => page.locator(".compare-words li").allInnerTexts())
        .toContainEqual(
          expect.stringMatching(/^large is 6\.\d\s% ± 0\.\d\s% worse per watt than small/),
        );
      expect(await page.locator(".compare-charts svg").count()).toBeGreaterThan(2);
      const shared = await open(page.url().slice(up.url.length), ".compare-charts svg");
      expect(await shared.page.locator(".compare-words").innerText()).toBe(
        await page.locator(".compare-words").innerText(),
      );
      expect(complaints).toEqual([]);
      const { page: other } = shared;
      await recordDrawing(other);
      const saved = async (entry: string): Promise<{ name: string; bytes: Buffer }> => {
        await other.getByRole("button", { name: "Menu of Power" }).click();
        const download = other.waitForEvent("download");
        await other.getByRole("menuitem", { name: entry }).click();
        const file = await download;
        return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
      };
      const picture = await saved("PNG picture");
      expect(picture.name).toMatch(/^gpulse-.*small-large-.*\.png$/);
      expect(picture.bytes.subarray(1, 4).toString()).toBe("PNG");
      const texts = (await drawnTexts(other)).map(({ text }) => text);
      expect(texts).toContainEqual(expect.stringMatching(/: small, large$/));
      expect(texts).toContainEqual(expect.stringMatching(/^\S.* on \S+$/));
      expect(texts).toContainEqual(expect.stringMatching(/^large {3}3 runs$/));
      const rows = (await saved("CSV table")).bytes.toString().trim().split("\n").slice(2);
      expect(rows[0]).toBe("subject,run,seconds,value");
      expect(new Set(rows.slice(1).map((row) => row.split(",")[0]))).toEqual(
        new Set(["small", "large"]),
      );
      const watts = rows.flatMap((row) =>
        row.startsWith("large,") ? [Number(row.split(",")[3])] : [],
      );
      expect(watts.some((value) => value > 240)).toBe(true);
      expect(await layoutFaults(other, "compare-runs")).toEqual([]);
      await shared.page.context().close();
      await page.context().close();
    });

    test("performance per watt comes from the simulator's work counter, or from the query that is given", async () => {
      const { page } = await open(both());
      await expect
        .poll(async () => (await fact(page, "Performance per watt")).join(" beside "))
        .toMatch(/^[\d.]+ per joule beside [\d.]+ per joule$/);
      await page.getByLabel("Work per second").fill("rate(ml_tokens_total[1m])");
      await page.getByRole("button", { name: "Use", exact: true }).click();
      await expect.poll(() => query(page).get("work")).toBe("rate(ml_tokens_total[1m])");
      await expect
        .poll(async () => (await fact(page, "Performance per watt")).join())
        .toContain("no uuid label");
      await page.getByLabel("Work per second").fill("gpu_power_watts * 2");
      await page.keyboard.press("Enter");
      await expect
        .poll(() => fact(page, "Performance per watt"))
        .toEqual(["2 per joule", "2 per joule"]);
      await page.context().close();
    });

    test("the means and the energy are those that the API gives for the same range", async () => {
      await waitUntil({ what: "twenty readings", timeoutMs: 60_000 }, async () => {
        const [found] = await ask("count_over_time(gpu_power_watts[1m])");
        return Number(found?.value[1]) >= 20 ? true : undefined;
      });
      const toMs = Math.floor(Date.now() / 1_000) * 1_000 - 3_000;
      const fromMs = toMs - 12_000;
      const iso = (ms: number) => new Date(ms).toISOString();
      const { page } = await open(`${both()}&from=${iso(fromMs)}&to=${iso(toMs)}`);
      const joules = await ask("increase(gpu_energy_integrated_joules_total[12s])", toMs);
      const of = (all: readonly Series[], at: number) =>
        Number(all.find(({ metric }) => metric["uuid"] === uuids[at])?.value[1]);
      await expect.poll(async () => (await fact(page, "Energy")).join()).toMatch(/J.*J/);
      const shown = await fact(page, "Energy");
      // One millisecond more, because a PromQL range excludes its first instant and the comparison includes it.
      const params = new URLSearchParams({
        query: "gpu_power_watts[12001ms]",
        time: String(toMs / 1_000),
      });
      const answer = await fetch(`${up.url}api/v1/query?${params.toString()}`);
      const curves = (
        (await answer.json()) as {
          data: { result: { metric: Series["metric"]; values: (readonly [number, string])[] }[] };
        }
      ).data.result;
      const means = await fact(page, "Mean power");
      for (const at of [0, 1]) {
        expect(Number.parseFloat(shown[at] ?? "") / of(joules, at)).toBeCloseTo(1, 2);
        const watts = curves.find(({ metric }) => metric["uuid"] === uuids[at])?.values ?? [];
        // Weighted by time: a reading covers half of the distance to its neighbours, and reaches to the ends of the range.
        const seconds = watts.map(([second]) => second);
        const edge = (left: number | undefined, right: number | undefined, end: number) =>
          left === undefined || right === undefined ? end : (left + right) / 2;
        const mean =
          watts.reduce((sum, [second, text], row) => {
            const from = edge(seconds[row - 1], second, fromMs / 1_000);
            const to = edge(second, seconds[row + 1], toMs / 1_000);
            return sum + Number(text) * (to - from);
          }, 0) / 12;
        expect(Number.parseFloat(means[at] ?? "") / mean).toBeCloseTo(1, 3);
      }
      await page.context().close();
    });

    test("a shared link shows the same comparison, of another time too, and parts can be added and taken away", async () => {
      const { page } = await open(`compare?gpus=${uuids[0] ?? ""}&range=5m`);
      await page.keyboard.press("c");
      await page.keyboard.type("7700");
      await page.keyboard.press("Enter");
      await expect
        .poll(() =>
          query(page)
            .get("gpus")
            ?.replace(/@[^,]*/, ""),
        )
        .toBe(uuids.join(","));
      await page.getByLabel(/with an earlier time/).selectOption("-5m");
      await expect.poll(() => chips(page)).toHaveLength(3);
      expect((await chips(page))[2]).toContain("5m earlier");
      await page.getByRole("button", { name: "Pin this range" }).click();
      await expect.poll(() => query(page).get("from")).not.toBe(null);
      const shared = await open(page.url().slice(up.url.length));
      expect(await chips(shared.page)).toEqual(await chips(page));
      await expect
        .poll(() => fact(shared.page, "Mean power"))
        .toEqual(await fact(page, "Mean power"));
      await shared.page.context().close();
      await page.getByRole("button", { name: /Remove .*earlier/ }).click();
      await expect.poll(() => chips(page)).toHaveLength(2);
      await page.goBack();
      await expect.poll(() => chips(page)).toHaveLength(3);
      await page.context().close();
    });

    test("a GPU that the hub does not know is named, with those it knows", async () => {
      const { page } = await open(`compare?gpus=${uuids[0] ?? ""},UNKNOWN`);
      await expect
        .poll(() => page.locator("main").innerText())
        .toMatch(/There is no GPU "UNKNOWN"\. Known GPUs: .*7800 XT/);
      await page.context().close();
    });

    test("nothing chosen offers what is there", async () => {
      const { page } = await open("compare", ".compare-ideas a");
      await page.locator(".compare-ideas a").first().click();
      await page.waitForSelector(plots);
      expect(query(page).get("gpus")?.split(",")).toHaveLength(2);
      await page.context().close();
    });

    test("nothing overflows and axe finds nothing, at every width in both themes", async () => {
      const { page, complaints, strangers } = await open(
        `${both()},${uuids[0] ?? ""}@-5m&range=5m`,
        ".compare-table:not(.figures) tbody td",
      );
      expect(await layoutFaults(page)).toEqual([]);
      expect([...complaints, ...strangers]).toEqual([]);
      await page.context().close();
    });
  },
);
