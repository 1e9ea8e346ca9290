/** Loading is not absence: while the hub's answers are awaited, no page says that something is missing or that nothing is wrong. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeInBrowser } from "./suite.ts";

const places = [
  "fleet",
  "fleet?view=range&range=15m",
  "gpu?range=5m",
  "host",
  "jobs",
  "jobs?tab=ended",
  "jobs?tab=books",
  "serving",
  "compare?range=5m",
  "alerts",
  "alerts?tab=silences",
  "alerts?tab=rules",
  "alerts?tab=history",
  "alerts?tab=events",
  "boards",
  "explore?expr=gpu_power_watts",
  "explore?expr=gpu_power_watts&tab=table",
  "analytics?range=6h",
  "system",
  "system?tab=storage",
  "system?tab=pipes",
  "system?tab=channels",
  "system?tab=access",
  "system?tab=audit",
  "runbooks",
] as const;

/**
 * Sentences and cells that claim an absence. What a device does not report is known without an answer, and the list of metrics on
 * Explore is documentation.
 */
const claims = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const main = document.querySelector("main");
    const told = [...main.querySelectorAll(".aside-panel, .not-reported")].flatMap((one) => one.innerText.split("\\n"));
    const lines = main.innerText.split("\\n")
      .filter((line) => !told.includes(line))
      .filter((line) => /\\bnothing [a-z]+|\\bnobody\\b|^(?:there is )?no\\b|\\bnone\\b|not reported|unavailable/i.test(line));
    const cells = [...main.querySelectorAll(".absent")]
      .filter((one) => one.checkVisibility() && !/driver does not report it/.test(one.ariaLabel ?? ""))
      .map((one) => one.closest("tr, div")?.innerText ?? one.innerText);
    return [...lines, ...cells];
  })()`);

describeInBrowser("a page before its data", {}, (suite) => {
  test.each(places)("%s claims no absence before the hub has answered", async (place) => {
    const context = await suite.browser.newContext({ viewport: { width: 1440, height: 900 } });
    // Requests of a shared worker could not be held back.
    await context.addInitScript("delete window.SharedWorker");
    const page = await context.newPage();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let held = 0;
    await page.route(/\/(?:api\/|metrics$)/, async (route) => {
      held += 1;
      await released;
      await route.continue();
    });
    const { devices } = (await (await fetch(`${suite.up.url}api/fleet`)).json()) as {
      devices: { uuid: string }[];
    };
    const compared = devices.slice(0, 2).map(({ uuid }) => uuid);
    const more = place.startsWith("compare") ? `&gpus=${compared.join(",")}` : "";
    await page.goto(`${suite.up.url}${place}${more}`);
    await page.waitForSelector("main *");
    await page.waitForTimeout(1_500);
    expect(held).toBeGreaterThan(0);
    expect(await claims(page)).toEqual([]);
    release();
    await expect
      .poll(() => page.locator("main").innerText(), { timeout: 20_000 })
      .not.toMatch(/loading…|reading [a-z ]+…|waiting for the first/i);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  });
});
