import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import type { JobSummary } from "../../src/view/jobs/summary.ts";
import { openBrowser, openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import {
  type PastJob,
  pastGpu,
  pastGpuInfo,
  pastHost,
  pastJobsOf,
  writePastJobs,
} from "./past-jobs.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

describe.skipIf("missing" in chromium)(
  `jobs in a real browser${skipped}`,
  { timeout: 90_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let first: JobSummary;
    let past: readonly PastJob[];

    beforeAll(async () => {
      await ensureBuild();
      const data = await mkdtemp(path.join(tmpdir(), "gpulse-jobs-"));
      past = pastJobsOf(Date.now());
      writePastJobs(data, past);
      up = await startUp(await freePort(), "sim:4", ["--data", data]);
      const file = path.join(data, "info.om");
      await writeFile(file, pastGpuInfo(Date.now()));
      const done = await runGpulse(["import", file, "--format", "openmetrics", "--url", up.url]);
      if (done.code !== 0) throw new Error(`the import failed: ${done.stderr}`);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      first = await waitUntil({ what: "jobs in the ledger", timeoutMs: 90_000 }, async () => {
        const answer = await fetch(`${up.url}api/jobs?state=running`);
        const { jobs } = (await answer.json()) as { jobs: JobSummary[] };
        return jobs.find(({ gpuSeconds, simulated }) => simulated && gpuSeconds > 20);
      });
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    const open = (address: string, ready: string) => openPage(browser, up.url + address, {}, ready);

    const rowOf = (page: Page) =>
      page
        .locator("tr")
        .filter({ has: page.getByRole("link", { name: first.name, exact: true }) })
        .first();

    test("running jobs are a table with user, GPU time, useful share and verdict", async () => {
      const { page, complaints, strangers } = await open("jobs", ".jobs tbody a");
      const row = rowOf(page);
      expect(await row.locator("[data-column=user]").innerText()).toBe(first.user);
      expect(await row.locator("[data-column=useful]").innerText()).toMatch(/^\d+ %/);
      expect(await row.locator("[data-column=verdict]").innerText()).toMatch(/^Held 1 GPU, /);
      expect(await layoutFaults(page, "jobs")).toEqual([]);
      expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
      await page.close();
    });

    test("a job's page has the verdict, charts of its own GPUs in its own time, and a report", async () => {
      const { page, complaints, strangers } = await open("jobs", ".jobs tbody a");
      const asked: URL[] = [];
      page.on("request", (request) => asked.push(new URL(request.url())));
      await rowOf(page).locator("a").click();
      await page.locator(".job .verdict").waitFor();
      await page.locator(".chart .u-over").first().waitFor();
      expect(await page.locator(".job .verdict").innerText()).toMatch(/^Held 1 GPU, /);
      expect(await page.locator(".job .title").innerText()).toContain(first.name);
      const ranges = asked.filter(({ pathname }) => pathname.endsWith("/query_range"));
      expect(ranges.length).toBeGreaterThan(0);
      for (const { searchParams } of ranges) {
        // Points are at whole steps, so the first may be one step before the start.
        const fromMs = Number(searchParams.get("start")) * 1_000;
        const stepMs = Number(searchParams.get("step")) * 1_000;
        expect(fromMs).toBeGreaterThanOrEqual(first.startMs - stepMs);
        expect(searchParams.get("query")).toContain("uuid=~");
      }
      // A job's charts keep their own time: dragging marks a range, which the changes dialog can be opened for.
      const box = await page.locator(".chart .u-over").first().boundingBox();
      if (box === null) throw new Error("the chart has no box");
      const [y, address] = [box.y + box.height / 2, page.url()];
      await page.mouse.move(box.x + box.width * 0.3, y);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, y, { steps: 5 });
      await page.mouse.move(box.x + box.width * 0.8, y, { steps: 5 });
      await page.mouse.up();
      await page.locator(".dragged i").waitFor();
      expect(page.url()).toBe(address);
      await page.getByRole("button", { name: "What changed here?" }).click();
      const dialog = page.getByRole("dialog", { name: "What changed here?" });
      await expect.poll(() => dialog.innerText()).toContain(`job ${first.name}, `);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Hide this offer" }).click();
      expect(await page.locator(".changes-offer").count()).toBe(0);
      const report = page.getByRole("link", { name: "Report as HTML" });
      const href = new URL((await report.getAttribute("href")) ?? "", page.url());
      const html = await (await fetch(href)).text();
      expect(html).toContain(first.name);
      expect(html).not.toContain("<script");
      // The content security policy has to allow its own style.
      const opened = await openPage(browser, href.toString(), {}, ".verdict");
      const border = await opened.page.evaluate<string>(
        "getComputedStyle(document.querySelector('.verdict')).borderLeftWidth",
      );
      // The file has no icon, for which the browser asks by itself.
      const blocked = opened.complaints.filter((one) => one.includes("Content Security Policy"));
      expect([border, blocked]).toEqual(["4px", []]);
      await opened.page.close();
      expect(await layoutFaults(page, "jobs-one")).toEqual([]);
      expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
      for (let back = 0; back < 3; back += 1) await page.goBack();
      await page.locator(".jobs tbody a").first().waitFor();
      await page.close();
    });

    test("a GPU's page has the jobs of the ledger that held it, with dates and durations", async () => {
      const device = (
        (await (await fetch(`${up.url}api/jobs/${encodeURIComponent(first.id)}`)).json()) as {
          job: { stretches: readonly { uuid: string; host: string }[] };
        }
      ).job.stretches[0];
      const { uuid = "", host = "" } = device ?? {};
      const { page, complaints } = await open(`gpu?uuid=${uuid}@${host}&range=15m`, ".gpu-work a");
      const row = rowOf(page);
      expect(await row.locator("[data-column=since]").innerText()).toMatch(
        /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
      );
      expect(await row.locator("[data-column=for]").innerText()).toMatch(/^[1-9]\d*\s(?:s|min)/);
      const params = new URLSearchParams({ uuid, host });
      const answer = await fetch(`${up.url}api/jobs?${params.toString()}`);
      const { jobs } = (await answer.json()) as { jobs: JobSummary[] };
      const states = page.locator(".gpu-work [data-column=state]");
      await expect
        .poll(async () => (await states.allInnerTexts()).length)
        .toBeGreaterThanOrEqual(jobs.length);
      const { state = "" } = jobs.find(({ id }) => id === first.id) ?? {};
      expect(await row.locator("[data-column=state]").innerText()).toMatch(
        new RegExp(`^(?:${state}|not seen for .*)$`),
      );
      await row.locator("a").click();
      await page.locator(".job .verdict").waitFor();
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("the jobs of several days have their dates and durations, overlaps name each other, and none is still running", async () => {
      const { page, complaints } = await open(`gpu?uuid=${pastGpu}&range=7d`, ".gpu-work a");
      const rows = page.locator(".gpu-work tbody tr", {
        has: page.locator('[data-column="since"]'),
      });
      await expect.poll(() => rows.count()).toBe(past.length);
      for (const { name, fromMs, toMs } of past) {
        const row = rows.filter({ has: page.getByRole("link", { name, exact: true }) });
        const column = (key: string) => row.locator(`[data-column="${key}"]`).innerText();
        // Readings are a minute apart.
        const near = async (key: string, ms: number) =>
          expect(Math.abs(Date.parse(await column(key)) - ms)).toBeLessThanOrEqual(120_000);
        await near("since", fromMs);
        await near("until", toMs);
        const [, amount = "", unit = ""] = /^([\d.]+)\s(min|h)$/.exec(await column("for")) ?? [];
        const heldMs = Number(amount) * (unit === "h" ? 3_600_000 : 60_000);
        expect(Math.abs(heldMs - (toMs - fromMs))).toBeLessThanOrEqual(240_000);
        expect(await column("state")).toMatch(
          name === past.at(-1)?.name ? /^not seen for \d+\s[hd]|^expired$/ : /^ended$/,
        );
        expect(await column("shared")).toBe(name === "102" || name === "103" ? "1 job" : "");
      }
      // The list of jobs that have not ended says the same.
      await page.goto(`${up.url}jobs`);
      await page.locator(".jobs tbody a").first().waitFor();
      const last = page
        .locator(".jobs tbody tr")
        .filter({ has: page.getByRole("link", { name: past.at(-1)?.name ?? "", exact: true }) });
      const states = await last.locator("[data-column=state]").allInnerTexts();
      expect(states).not.toContain("running");
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("one's own jobs are those of the user that was entered, also after a reload", async () => {
      const { page } = await open("jobs?tab=mine", "input[name=user]");
      await page.locator("input[name=user]").fill(first.user ?? "");
      await page.keyboard.press("Enter");
      await page.locator(".jobs tbody a").first().waitFor();
      const users = await page.locator(".jobs tbody [data-column=user]").allInnerTexts();
      expect(new Set(users)).toEqual(new Set([first.user]));
      await page.reload();
      await page.locator(".jobs tbody a").first().waitFor();
      expect(await page.locator("input[name=user]").inputValue()).toBe(first.user);
      expect(await layoutFaults(page, "jobs-mine")).toEqual([]);
      await page.close();
    });

    test("the books close, and say so", async () => {
      const { page, complaints } = await open("jobs?tab=books", ".jobs tbody tr td");
      const rows = page.locator(".jobs tbody tr");
      const simulated = rows.filter({ hasText: "simulated" });
      expect(await simulated.count()).toBe(4);
      // A row per GPU and day, also of days before the hub's last start.
      const own = await rows
        .filter({ hasText: pastHost })
        .locator("td:first-child, th")
        .allInnerTexts();
      expect(own.length).toBeGreaterThan(2);
      expect(new Set(own).size).toBe(own.length);
      expect(await page.locator("main").innerText()).toContain(`All ${4 + own.length} books`);
      expect(await layoutFaults(page, "jobs-books")).toEqual([]);
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("a job that is not in the ledger is said to be missing, with a way back", async () => {
      const { page } = await open("jobs?id=slurm:0", "main .empty, main a");
      await expect
        .poll(() => page.locator("main").innerText())
        .toContain('There is no job "slurm:0" in the ledger');
      await page.getByRole("link", { name: "All jobs" }).click();
      await page.locator(".jobs tbody a").first().waitFor();
      await page.close();
    });
  },
);
