import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { type AlertHub, startAlertHub } from "./alert-hub.ts";
import { layoutFaults } from "./layouts.ts";
import { openBrowser, openPage } from "./browser.ts";

const chromium = findTool("chromium");
const amtool = findTool("amtool");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const poll = { timeout: 20_000 };

describe.skipIf("missing" in chromium)(
  `the alerts page in a real browser${skipped}`,
  { timeout: 60_000 },
  () => {
    let hub: AlertHub;
    let browser: Browser;
    beforeAll(async () => {
      await ensureBuild();
      hub = await startAlertHub(await freePort());
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await hub?.stop();
    });

    const open = (query = "", options: Parameters<typeof openPage>[2] = {}) =>
      openPage(browser, `${hub.url}alerts${query}`, options, ".tabs");
    const row = (page: Page, name: string) => page.locator(`.alerts > li[data-alert="${name}"]`);
    const reported = async (args: readonly string[]): Promise<string> =>
      "path" in amtool
        ? (await promisify(execFile)(amtool.path, [...args, "--alertmanager.url", hub.url])).stdout
        : "";
    const stateOf = async (name: string): Promise<string | undefined> => {
      const answer = await fetch(`${hub.url}api/v2/alerts?filter=alertname%3D${name}`);
      const [alert] = (await answer.json()) as { status: { state: string } }[];
      return alert?.status.state;
    };

    test("what fires is shown with its words and severity, what is inhibited with by what, what is pending apart", async () => {
      const { page, complaints, strangers } = await open();
      await expect.poll(() => row(page, "PowerAbove").innerText(), poll).toContain("warning");
      expect(await row(page, "PowerAbove").innerText()).toContain("GPU 1 draws power");
      expect(await row(page, "HostHot").getAttribute("data-level")).toBe("bad");
      await expect
        .poll(() => row(page, "Child").innerText(), poll)
        .toMatch(/inhibited\s+by HostHot: The host is hot/);
      expect(await row(page, "Waits").innerText()).toContain("pending");
      expect(await page.locator(".banner").innerText()).toMatch(/\d alerts firing/);
      // Child has severity info, which needs no attention.
      const severities = async (): Promise<string[]> => {
        const answer = await fetch(`${hub.url}api/v1/alerts`);
        const { data } = (await answer.json()) as {
          data: { alerts: { state: string; labels: { severity?: string } }[] };
        };
        return data.alerts.flatMap(({ state, labels }) =>
          state === "firing" ? [labels.severity ?? ""] : [],
        );
      };
      expect(await severities()).toContain("info");
      await expect
        .poll(async () => {
          const counted = (await severities()).filter((one) => one !== "info").length;
          return Number(await page.locator(".alert-badge").innerText()) - counted;
        }, poll)
        .toBe(0);
      expect(complaints).toEqual([]);
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("silenced by the keyboard alone, it is silenced for amtool and the API, and expires from the page", async () => {
      const { page } = await open();
      const button = row(page, "PowerAbove").getByRole("button", { name: "Silence PowerAbove" });
      await button.waitFor();
      for (let at = 0; at < 80 && !(await focusIs(page, "Silence PowerAbove")); at += 1)
        await page.keyboard.press("Tab");
      expect(await focusIs(page, "Silence PowerAbove")).toBe(true);
      await page.keyboard.press("Enter");
      const dialog = page.locator("dialog.silence[open]");
      await dialog.waitFor();
      expect(await dialog.getByLabel("Value of alertname").inputValue()).toBe("PowerAbove");
      for (let at = 0; at < 40 && !(await focusIs(page, "1 day")); at += 1)
        await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      while (!(await focusIs(page, "Comment"))) await page.keyboard.press("Tab");
      await page.keyboard.type("fan is being changed");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator("dialog.silence[open]").count(), poll).toBe(0);
      await expect.poll(() => stateOf("PowerAbove"), poll).toBe("suppressed");
      // HostHot alone: PowerAbove is silenced, Child inhibited, Waits pending.
      await expect.poll(() => page.locator(".alert-badge").innerText(), poll).toBe("1");
      await expect.poll(() => page.title()).toMatch(/^\(1\) /);
      await expect
        .poll(() => row(page, "PowerAbove").innerText(), poll)
        .toContain("fan is being changed");
      if ("path" in amtool) {
        expect(await reported(["silence", "query", "alertname=PowerAbove"])).toContain(
          "fan is being",
        );
        expect(await reported(["alert", "query", "alertname=PowerAbove"])).not.toContain(
          "PowerAbove",
        );
        expect(await reported(["alert", "query", "--silenced", "alertname=PowerAbove"])).toContain(
          "PowerAbove",
        );
      }
      await page.getByRole("link", { name: /^Silences/ }).click();
      await page.getByRole("button", { name: /^Expire the silence/ }).click();
      await expect.poll(() => stateOf("PowerAbove"), poll).toBe("active");
      if ("path" in amtool)
        expect(await reported(["alert", "query", "alertname=PowerAbove"])).toContain("PowerAbove");
      await page.context().close();
    });

    test("on a phone the fleet's banner is there at once and moves nothing", async () => {
      const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
      const page = await context.newPage();
      // Responses about alerts are delayed: anything the HTML does not contain would push the page down.
      await page.route(/\/api\/(?:v1\/alerts|alert-summary)/, async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await route.continue();
      });
      await page.addInitScript(`globalThis.shift = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value;
        }).observe({ type: "layout-shift", buffered: true });`);
      const answered = page.waitForResponse(/alert-summary/);
      await page.goto(hub.url);
      await page.waitForSelector(".attention .banner");
      await answered;
      await page.waitForSelector("tbody tr[data-uuid]");
      expect(await page.locator(".attention").innerText()).toContain("HostHot");
      expect(await page.evaluate<number>("globalThis.shift")).toBeLessThanOrEqual(0.05);
      await context.close();
    });

    test("an alert leads to its runbook, which is a page, and a message's link leads there too", async () => {
      const { page, strangers } = await openPage(
        browser,
        `${hub.url}runbook/gputoohot`,
        {},
        ".runbooks .prose",
      );
      expect(new URL(page.url()).pathname).toBe("/runbooks");
      expect(await page.locator(".runbooks").innerText()).toMatch(/Meaning\..*Check\..*Fix\./s);
      await expect.poll(() => page.title()).toContain("Runbook: GpuTooHot");
      expect(await layoutFaults(page, "runbook")).toEqual([]);
      await page.getByRole("link", { name: "All runbooks" }).click();
      await page.getByRole("searchbox").fill("xid");
      await page.getByRole("link", { name: "GpuXidCritical" }).click();
      await expect
        .poll(() => page.locator("h2.page-title").innerText(), poll)
        .toBe("GpuXidCritical");
      const plain = await page.request.get(`${hub.url}runbook/gpuhot`, {
        headers: { accept: "*/*" },
      });
      expect(await plain.text()).toMatch(/^### GpuHot/);
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("Escape leaves the dialog and silences nothing", async () => {
      const { page } = await open();
      await row(page, "HostHot").getByRole("button", { name: "Silence HostHot" }).click();
      await page.locator("dialog.silence[open]").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.locator("dialog.silence[open]").count()).toBe(0);
      expect(await stateOf("HostHot")).toBe("active");
      await page.context().close();
    });

    test("a rule is drawn with its threshold, and its past is walked", async () => {
      const { page } = await open("?tab=rules&rule=PowerAbove");
      const detail = page.locator(".rule-detail");
      await expect
        .poll(() => detail.locator("figure > p.unseen").first().innerText(), poll)
        .toMatch(/> 1\sW at 1\sW/);
      await detail.getByRole("button", { name: "hour" }).click();
      await expect
        .poll(() => detail.locator(".backtest").innerText(), poll)
        .toMatch(/It would have fired \d+ time/);
      expect(await detail.locator(".backtest").innerText()).not.toContain("NaN");
      await page.context().close();
    });

    test("deliveries show what failed and why, and a test of a receiver reports what came of it", async () => {
      const { page } = await open("?tab=history");
      await expect
        .poll(() => page.locator(".table tbody").innerText(), poll)
        .toMatch(/failed[\s\S]*HostHot[\s\S]*ECONNREFUSED/);
      await page.getByRole("button", { name: "Send a test to team" }).click();
      await expect
        .poll(() => page.locator(".receivers").innerText(), poll)
        .toContain("ECONNREFUSED");
      await page.context().close();
    });

    test("what is marked is in the list of events and on the charts", async () => {
      const { page } = await open("?tab=events");
      await page.getByLabel("Event to mark").fill("driver changed");
      await page.keyboard.press("Enter");
      await expect
        .poll(() => page.locator(".events").innerText(), poll)
        .toContain("driver changed");
      await page.goto(`${hub.url}alerts?tab=rules&rule=PowerAbove`);
      await expect
        .poll(() => page.locator(".rule-detail .marks").allTextContents(), poll)
        .toEqual([expect.stringContaining("driver changed")]);
      await page.context().close();
    });

    const tabs = ["", "?tab=silences", "?tab=rules&rule=PowerAbove", "?tab=history", "?tab=events"];
    test(
      "every part at every width and in both themes has nothing cut off and nothing inaccessible",
      { timeout: 170_000 },
      async () => {
        const { page } = await open();
        for (const tab of tabs) {
          await page.goto(`${hub.url}alerts${tab}`);
          await page.waitForSelector(".tabs");
          await page.waitForTimeout(700);
          expect(await layoutFaults(page), tab).toEqual([]);
        }
        await page.goto(`${hub.url}alerts`);
        await row(page, "HostHot").getByRole("button", { name: "Silence HostHot" }).click();
        expect(await layoutFaults(page), "the dialog").toEqual([]);
        await page.context().close();
      },
    );
  },
);

/** By the name for screen readers, or by its text. */
const focusIs = (page: Page, name: string): Promise<boolean> =>
  page.evaluate<boolean>(
    `(() => { const at = document.activeElement; const own = at?.ariaLabel ?? at?.labels?.[0]?.innerText ?? at?.innerText ?? ""; return own.trim() === ${JSON.stringify(name)}; })()`,
  );
