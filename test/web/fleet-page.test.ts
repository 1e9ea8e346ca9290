import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { program, startAgent } from "../../engines/program.ts";
import { openPage } from "./browser.ts";
import { lowestContrast } from "./contrast.ts";
import { describeInBrowser } from "./suite.ts";

describeInBrowser("the fleet page", {}, (suite) => {
  const open = (query = "", options: Parameters<typeof openPage>[2] = {}) =>
    openPage(suite.browser, suite.up.url + query, options);
  const rowNames = (page: Page) => page.locator("tbody tr[data-uuid] .name").allInnerTexts();
  const indexes = async (page: Page) =>
    (await rowNames(page)).map((name) => Number(/#(\d+)/.exec(name)?.[1]));
  const textOf = (page: Page, selector: string) => page.locator(selector).allInnerTexts();

  test("eight GPUs move, plainly marked as simulated, and nothing complains or calls out", async () => {
    const { page, complaints, strangers } = await open();
    expect(await indexes(page)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await page.locator(".notice.simulated").innerText()).toContain(
      "Simulated fleet: no GPU was read",
    );
    expect(await page.locator(".live-state").innerText()).toContain("Live");
    const before = (await textOf(page, "td.c-power")).join();
    await expect
      .poll(async () => (await textOf(page, "td.c-power")).join(), { timeout: 20_000 })
      .not.toBe(before);
    expect(complaints).toEqual([]);
    expect(strangers).toEqual([]);
    await page.context().close();
  });

  test("a page opened later shows the past minutes at once", async () => {
    const { page } = await open();
    await expect
      .poll(
        () => page.locator("td.c-utilization .spark path:last-child").first().getAttribute("d"),
        { timeout: 20_000 },
      )
      .toMatch(/^M.*L.*L/);
    await page.context().close();
  });

  test("the room over time stands above the table and fills its charts on a fresh start", async () => {
    const { page } = await open();
    const titles = () => textOf(page, ".room .chart h3");
    await expect
      .poll(titles, { timeout: 20_000 })
      .toEqual(["Utilisation", "Power", "Temperature", "Memory", "Waste"]);
    // The hub is minutes old: an hour of it would be an empty chart with a line at its edge.
    // A chart describes its lines beside its events.
    await page
      .locator(".room .chart .unseen", { hasText: "mean" })
      .first()
      .waitFor({ state: "attached", timeout: 20_000 });
    const [room, table] = [page.locator(".room"), page.locator(".fleet")];
    const [above, below] = [await room.boundingBox(), await table.boundingBox()];
    expect(above?.y ?? 0).toBeLessThan(below?.y ?? 0);
    await page.context().close();
  });

  test("an empty hub shows how to add a machine and copies the line; the first agents turn it into the fleet by themselves", async () => {
    const port = await freePort();
    const data = await mkdtemp(path.join(tmpdir(), "gpulse-empty-"));
    const args = [program, "hub", "--port", String(port), "--data", data, "--no-self-scrape"];
    const hub = startProcess(process.execPath, args, { name: "gpulse hub" });
    try {
      const url = `http://127.0.0.1:${port}/`;
      await hub.waitForUrl(`${url}-/ready`);
      const permissions = ["clipboard-read", "clipboard-write"];
      const { page, complaints } = await openPage(
        suite.browser,
        url,
        { permissions },
        ".onboarding",
      );
      const status = page.locator(".onboarding [role=status]");
      expect(await status.innerText()).toBe("Waiting for the first agent…");
      await page.getByRole("button", { name: "Copy the line that adds a machine" }).click();
      await expect
        .poll(() => page.evaluate<string>("navigator.clipboard.readText()"))
        .toBe(`npx gpulse agent --push http://127.0.0.1:${port}`);
      const other = await page.context().newPage();
      for (const [place, text] of [
        ["alerts", "No GPU has reported to this hub"],
        ["analytics", "No GPU has reported to this hub"],
      ] as const) {
        await other.goto(url + place);
        await expect
          .poll(() => other.locator("main").innerText(), { timeout: 30_000 })
          .toContain(text);
      }
      await other.close();
      await page.evaluate("window.notReloaded = true");
      const push = ["--push", url.replace(/\/$/, "")];
      const bare = await startAgent(["--source", "host:", "--host-name", "bare", ...push]);
      try {
        await expect
          .poll(() => status.innerText(), { timeout: 30_000 })
          .toBe(
            "bare reports, without a GPU so far. Run gpulse doctor there: it shows what each source found.",
          );
        const agent = await startAgent(["--source", "sim:2", "--host-name", "first", ...push]);
        try {
          await expect.poll(() => indexes(page), { timeout: 60_000 }).toEqual([0, 1]);
          expect(await page.locator(".onboarding").count()).toBe(0);
          expect(await page.evaluate("window.notReloaded")).toBe(true);
          expect(complaints).toEqual([]);
        } finally {
          await agent.stop();
        }
      } finally {
        await bare.stop();
      }
      await page.context().close();
    } finally {
      await hub.stop();
    }
  });

  test("every cell of the heatmap says which GPU it is and what it reads", async () => {
    const { page } = await open();
    const labels = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.cell')].map((cell) => cell.ariaLabel)",
    );
    expect(labels).toHaveLength(8);
    for (const label of labels) expect(label).toMatch(/#\d+: .*(utilised|n\/a|lost)/);
    await page.locator(".heatmap").getByRole("button", { name: "Power" }).click();
    await expect
      .poll(() => page.locator(".cell").first().getAttribute("aria-label"))
      .toContain("of its power limit");
    await page.context().close();
  });

  test("the keyboard sorts, filters, opens details and shows its help", async () => {
    const { page } = await open();
    await page.keyboard.press("1");
    await expect.poll(() => indexes(page)).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
    await page.keyboard.press("/");
    await page.keyboard.type("#3");
    await expect.poll(() => indexes(page)).toEqual([3]);
    await page.keyboard.press("Escape");
    await expect.poll(() => indexes(page)).toHaveLength(8);
    await page.keyboard.press("Escape");
    const focused = () => page.locator(".name:focus").innerText();
    await page.keyboard.press("j");
    await expect.poll(focused).toContain("#7");
    await page.keyboard.press("j");
    await expect.poll(focused).toContain("#6");
    await page.keyboard.press("Enter");
    expect(await page.locator(".inspector h2").innerText()).toContain("#6");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".inspector").count()).toBe(0);
    await page.keyboard.press("?");
    await expect.poll(() => page.locator("dialog.help").isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("dialog.help").isVisible()).toBe(false);
    await page.context().close();
  });

  test("a column head sorts and turns round, and the address keeps the view", async () => {
    const { page } = await open();
    const head = page.locator("th.c-power");
    await head.getByRole("button").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => head.getAttribute("aria-sort")).toBe("descending");
    await page.keyboard.press("Enter");
    await expect.poll(() => head.getAttribute("aria-sort")).toBe("ascending");
    // Anywhere in the cell, not only on the text.
    const box = await head.boundingBox();
    const corner = { x: (box?.width ?? 0) - 3, y: (box?.height ?? 0) - 3 };
    await head.click({ position: corner });
    await expect.poll(() => head.getAttribute("aria-sort")).toBe("descending");
    await head.click({ position: corner });
    await expect.poll(() => head.getAttribute("aria-sort")).toBe("ascending");
    await page.reload();
    await page.waitForSelector("tbody tr[data-uuid]");
    expect(await head.getAttribute("aria-sort")).toBe("ascending");
    await page.context().close();
  });

  test("a filter nothing matches says so and can be cleared", async () => {
    const { page } = await open();
    await page.locator("#filter").fill("no such card");
    await page.getByRole("button", { name: "Clear the filter" }).click();
    await expect.poll(() => indexes(page)).toHaveLength(8);
    await page.context().close();
  });

  test.each(["dark", "light"] as const)(
    "%s: follows the system, and text has the contrast of WCAG AA",
    async (colorScheme) => {
      const { page } = await open("", { colorScheme });
      const background = await page.evaluate<string>(
        "getComputedStyle(document.documentElement).backgroundColor",
      );
      const lightness = Number(/oklch\(([\d.]+)/.exec(background)?.[1]);
      expect(lightness > 0.5).toBe(colorScheme === "light");
      const lowest = await page.evaluate<{ ratio: number; text: string }>(
        lowestContrast("body *:not(.cell)"),
      );
      expect(lowest.ratio, `"${lowest.text}"`).toBeGreaterThanOrEqual(4.5);
      await page.context().close();
    },
  );

  test("a theme that was chosen wins over the system's and is remembered", async () => {
    const { page } = await open("", { colorScheme: "dark" });
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.reload();
    const scheme = () =>
      page.evaluate<string>("getComputedStyle(document.documentElement).colorScheme");
    expect(await scheme()).toBe("light");
    await page.context().close();
  });

  test.each([360, 768, 1024, 1440, 2560])(
    "%i pixels wide: nothing is cut off sideways",
    async (width) => {
      const { page } = await open("", { viewport: { width, height: 800 } });
      expect(
        await page.evaluate<number>("document.documentElement.scrollWidth"),
      ).toBeLessThanOrEqual(width);
      expect(await page.locator("tbody tr[data-uuid]").first().isVisible()).toBe(true);
      await page.context().close();
    },
  );

  test("a lost connection greys the numbers and reports their age, and the page comes back by itself", async () => {
    const { page, complaints } = await open();
    const shown = () => page.locator(".page").getAttribute("data-live");
    expect(await shown()).toBe("live");
    await suite.up.process.stop();
    await expect.poll(shown, { timeout: 20_000 }).toBe("lost");
    expect(await page.locator(".live-state").innerText()).toMatch(/Reconnecting: \d+\ss old/);
    expect(
      await page.evaluate<string>("getComputedStyle(document.querySelector('.fleet')).filter"),
    ).toBe("grayscale(1)");
    await suite.restart();
    await expect.poll(shown, { timeout: 30_000 }).toBe("live");
    // A hub that has just started streams before its GPUs have been read.
    await expect.poll(() => indexes(page)).toHaveLength(8);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
