import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { layoutFaults } from "./layouts.ts";
import { openPage } from "./browser.ts";
import { lowestContrast } from "./contrast.ts";
import { drawnDashes, recordDrawing } from "./drawn.ts";
import { describeInBrowser } from "./suite.ts";

/** Long, because other programs may keep the machine busy. */
const slow = { timeout: 15_000 };
const [legend, editor] = [".chart-legend tbody tr", ".promql .cm-content"];

describeInBrowser("Explore", {}, (suite) => {
  const open = (query = "", options: Parameters<typeof openPage>[2] = {}) =>
    openPage(suite.browser, `${suite.up.url}explore${query}`, options, editor);
  const params = (page: Page) => new URL(page.url()).searchParams;
  const write = async (page: Page, text: string): Promise<void> => {
    await page.locator(editor).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
  };

  test("a query is completed from the hub, run by Enter, drawn, kept in the address and in the history", async () => {
    const { page, complaints, strangers } = await open();
    await write(page, "gpu_pow");
    const offered = page.locator(".promql .cm-tooltip-autocomplete li");
    await expect.poll(() => offered.allInnerTexts(), slow).toContain("gpu_power_wattsgauge");
    await page.keyboard.type("er_watts");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await expect.poll(() => params(page).get("expr"), slow).toBe("gpu_power_watts");
    await expect.poll(() => page.locator(legend).count(), slow).toBe(8);
    await page.reload();
    await expect.poll(() => page.locator(legend).count(), slow).toBe(8);
    expect(await page.locator(editor).innerText()).toBe("gpu_power_watts");
    await page.getByRole("button", { name: "History" }).click();
    expect(await page.locator(".history code").allInnerTexts()).toEqual(["gpu_power_watts"]);
    expect(complaints).toEqual([]);
    expect(strangers).toEqual([]);
    await page.context().close();
  });

  test("a broken query says what is wrong in the hub's words, underlines it, and can be fixed", async () => {
    const { page } = await open("?expr=sum(gpu_power_watts");
    await expect
      .poll(() => page.locator(".plot-says").innerText(), slow)
      .toContain("unclosed left parenthesis");
    await expect.poll(() => page.locator(".promql .cm-lintRange-error").count(), slow).toBe(1);
    await write(page, "sum(gpu_power_watts)");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await expect.poll(() => page.locator(legend).count(), slow).toBe(1);
    expect(await page.locator(".plot-says").count()).toBe(0);
    await page.context().close();
  });

  test("the table shows a row per series with the labels that tell them apart, and sorts", async () => {
    const { page } = await open("?expr=gpu_power_watts&tab=table");
    await expect.poll(() => page.locator(".table tbody tr").count(), slow).toBe(8);
    expect(await page.locator(".table th").allInnerTexts()).toEqual(["gpu", "value"]);
    await page.locator(".table th").nth(1).getByRole("button").click();
    const watts = (await page.locator(".table td.numeric").allInnerTexts()).map((text) =>
      Number.parseFloat(text.replaceAll(/\s/g, "")),
    );
    expect(watts).toEqual([...watts].sort((one, other) => other - one));
    await page.context().close();
  });

  test("the metric browser finds by meaning, draws by a click, and offers a rate for a counter", async () => {
    const { page } = await open();
    const find = page.getByLabel("Find a metric by name or meaning");
    await find.fill("margin slows");
    await expect
      .poll(() => page.locator(".metric-list code").allInnerTexts())
      .toEqual(["gpu_temperature_margin_celsius"]);
    await find.fill("gpu_energy_joules");
    await page.locator(".metric-list button").first().click();
    await expect.poll(() => params(page).get("expr"), slow).toBe("gpu_energy_joules_total");
    await page.getByRole("button", { name: "Show its rate instead" }).click();
    await expect
      .poll(() => params(page).get("expr"), slow)
      .toBe("rate(gpu_energy_joules_total[5m])");
    expect(await page.locator(editor).innerText()).toBe("rate(gpu_energy_joules_total[5m])");
    await page.goBack();
    await expect.poll(() => page.locator(editor).innerText(), slow).toBe("gpu_energy_joules_total");
    await page.context().close();
  });

  test("the editor can be left by Tab and does not take the page's keys", async () => {
    const { page } = await open();
    await page.keyboard.press("e");
    expect(await page.evaluate<string>("document.activeElement.className")).toBe("promql");
    await page.keyboard.type("tt");
    expect(await page.locator(".picker").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").innerText()).toBe("Run");
    await page.context().close();
  });

  test("eight GPUs are eight dashes in the plot and in the legend", async () => {
    const { page } = await open("?expr=gpu_power_watts&range=5m");
    await recordDrawing(page);
    await expect
      .poll(
        async () => (await drawnDashes(page, "gpu_power_watts")).filter((one) => one !== "").length,
      )
      .toBeGreaterThanOrEqual(7);
    const dashes = await page.evaluate<string[]>(
      `[...document.querySelectorAll(".chart-legend .line-swatch path")].map((one) => one.getAttribute("stroke-dasharray"))`,
    );
    expect(new Set(dashes).size).toBe(8);
    await page.context().close();
  });

  test("no overflow, enough contrast, nothing axe complains about, at every width in both themes", async () => {
    const { page } = await open("?expr=gpu_power_watts");
    await page.waitForSelector(legend);
    expect(await layoutFaults(page)).toEqual([]);
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      const lowest = await page.evaluate<{ ratio: number; text: string }>(lowestContrast("body *"));
      expect(lowest.ratio, `"${lowest.text}"`).toBeGreaterThanOrEqual(4.5);
    }
    await page.context().close();
  });
});
