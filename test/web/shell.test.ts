import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import { startProxy } from "./proxy.ts";
import { describeInBrowser } from "./suite.ts";

const pages = ["Fleet", "GPU", "Compare", "Alerts", "Explore", "Analytics", "System"] as const;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const plots = ".chart .u-over";

describeInBrowser("the frame of the page", {}, (suite) => {
  const open = (address = "", ready = "main[data-page]") =>
    openPage(suite.browser, suite.up.url + address, {}, ready);
  const path = (page: Page) => page.url().slice(suite.up.url.length);
  const query = (page: Page) => new URL(page.url()).searchParams;
  const shown = (page: Page) => page.locator("main").getAttribute("data-page");
  const summaries = (page: Page) => page.locator(".chart > p.unseen:not([role])").allInnerTexts();
  const rangeButton = (page: Page) => page.locator(".time .range .long").innerText();

  test("the navigation leads to every page by one address each, and back leads back", async () => {
    const { page, complaints, strangers } = await open();
    for (const label of pages.slice(1)) {
      await page.locator(".nav").getByRole("link", { name: label, exact: true }).click();
      await expect.poll(() => path(page).split("?")[0]).toBe(label.toLowerCase());
      await page.waitForSelector(`main[data-page="${label.toLowerCase()}"] > *`);
      expect(await page.locator(".nav [aria-current]").innerText()).toBe(label);
      expect(await page.title()).toContain("gpulse");
      expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
    }
    for (let at = 1; at < pages.length; at += 1) await page.goBack();
    await expect.poll(() => shown(page)).toBe("fleet");
    await page.waitForSelector("tbody tr[data-uuid]");
    expect(complaints).toEqual([]);
    expect(strangers).toEqual([]);
    await page.context().close();
  });

  test("a page's address opens it at once and hides no answer of the hub", async () => {
    const { page } = await open("explore?range=15m");
    expect(await shown(page)).toBe("explore");
    const answer = await page.request.get(`${suite.up.url}api/no-such-thing`);
    expect([answer.status(), answer.headers()["content-type"]]).toEqual([
      404,
      "application/json; charset=utf-8",
    ]);
    expect((await page.request.get(`${suite.up.url}no-such-page`)).status()).toBe(404);
    await page.context().close();
  });

  test("an unknown address is a page that leads to the others, not JSON", async () => {
    const answer = await fetch(`${suite.up.url}nonsense`, { headers: { accept: "text/html" } });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      404,
      "text/html; charset=utf-8",
    ]);
    const { page } = await openPage(suite.browser, `${suite.up.url}nonsense`, {}, "main, body");
    expect(await page.locator("body").innerText()).toContain("There is no page at /nonsense.");
    expect(await layoutFaults(page, "unknown")).toEqual([]);
    await page.getByRole("link", { name: "alerts" }).click();
    await page.waitForSelector('main[data-page="alerts"]');
    await page.context().close();
  });

  test("the palette finds pages, ranges, GPUs and metrics, by keyboard alone", async () => {
    const { page } = await open();
    const choose = async (words: string): Promise<void> => {
      await page.keyboard.press("Control+k");
      await page.waitForSelector("dialog.palette[open] input");
      await page.keyboard.type(words);
      await page.keyboard.press("Enter");
      await page.waitForSelector("dialog.palette:not([open])", { state: "attached" });
    };
    await choose("alerts");
    await expect.poll(() => shown(page)).toBe("alerts");
    await choose("last 5 min");
    await expect.poll(() => query(page).get("range")).toBe("5m");
    await choose("gpu h200 #3");
    await expect.poll(() => shown(page)).toBe("gpu");
    expect(query(page).get("uuid")).toMatch(/^SIM-/);
    expect(query(page).get("range")).toBe("5m");
    await choose("gpu_power_watts");
    await expect.poll(() => shown(page)).toBe("explore");
    expect(query(page).get("expr")).toBe("gpu_power_watts");
    await choose("theme: light");
    await expect
      .poll(() => page.evaluate<string>("document.documentElement.dataset.theme"))
      .toBe("light");
    await page.context().close();
  });

  test("shortcuts go to pages, open the range, move in time, and are all on the sheet", async () => {
    const { page } = await open();
    await page.keyboard.press("g");
    await page.keyboard.press("e");
    await expect.poll(() => shown(page)).toBe("explore");
    await page.keyboard.press("g");
    await page.keyboard.press("g");
    await expect.poll(() => shown(page)).toBe("gpu");
    await page.keyboard.press("t");
    await page.waitForSelector(".picker");
    expect(await page.locator(".picker button:focus").innerText()).toBe("Last hour");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".picker").count()).toBe(0);
    await page.keyboard.press("[");
    await expect.poll(() => query(page).get("from")).not.toBe(null);
    await page.keyboard.press("l");
    await expect.poll(() => query(page).get("from")).toBe(null);
    await page.keyboard.press("d");
    expect(await page.evaluate<string>("document.documentElement.dataset.density")).toBe("compact");
    await page.keyboard.press("?");
    const sheet = page.locator("dialog.help[open]");
    await sheet.waitFor();
    for (const says of ["time range", "zoom out", "search everything", "Explore"])
      expect(await sheet.innerText()).toContain(says);
    await page.keyboard.press("Escape");
    await page.context().close();
  });

  test("a page without a time offers no time range, and the next one does", async () => {
    const { page } = await open("runbooks?from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z");
    await page.waitForSelector('.live-state[data-state="live"]');
    expect(await page.locator(".time").count()).toBe(0);
    expect(await page.locator(".live-state").innerText()).toContain("Live");
    await page.keyboard.press("t");
    await page.locator(".nav").getByRole("link", { name: "GPU", exact: true }).click();
    await expect.poll(() => page.locator(".time").count()).toBe(1);
    expect(await page.locator(".picker").count()).toBe(0);
    await page.context().close();
  });

  test("type grows with a wall display", async () => {
    const { page } = await open();
    const size = (): Promise<number> =>
      page.evaluate<number>("Number.parseFloat(getComputedStyle(document.body).fontSize)");
    const sizes: number[] = [];
    for (const width of [1_440, 2_560, 3_840]) {
      await page.setViewportSize({ width, height: 1_080 });
      sizes.push(await size());
    }
    expect(sizes.map((one) => Math.round(one))).toEqual([13, 17, 25]);
    await page.context().close();
  });

  test("Tab first meets the way past the navigation", async () => {
    const { page } = await open();
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").innerText()).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
    await page.context().close();
  });

  test("a chosen range is in the address, goes along to other pages, outlives a reload and goes back", async () => {
    const { page } = await open("gpu", plots);
    await page.locator(".time .range").click();
    await page.getByRole("button", { name: "Last 15 minutes" }).click();
    await expect.poll(() => query(page).get("range")).toBe("15m");
    await page.reload();
    expect(await rangeButton(page)).toBe("Last 15 minutes");
    await page.locator(".nav").getByRole("link", { name: "Explore" }).click();
    await expect.poll(() => shown(page)).toBe("explore");
    expect(query(page).get("range")).toBe("15m");
    await page.goBack();
    await page.goBack();
    await expect.poll(() => query(page).get("range")).toBe(null);
    expect(await rangeButton(page)).toBe("Last hour");
    await page.context().close();
  });

  test("from and to can be typed, and nonsense is distinguished from them", async () => {
    const { page } = await open("gpu");
    await page.keyboard.press("t");
    await page.getByLabel("From").fill("someday");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    expect(await page.locator(".picker [role=alert]").innerText()).toContain("yesterday 15:00");
    await page.getByLabel("From").fill("2026-01-31 14:00:00");
    await page.getByLabel("To", { exact: true }).fill("2026-01-31 15:00:00");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expect.poll(() => rangeButton(page)).toBe("2026-01-31 14:00:00 – 15:00:00");
    await expect.poll(() => page.locator("main").innerText()).toContain("No reading in this range");
    await page.context().close();
  });

  test("a natural time in the picker becomes an instant in the address", async () => {
    const { page } = await open("gpu");
    await page.keyboard.press("t");
    await page.getByLabel("From").fill("yesterday 15:00");
    await page.getByLabel("To", { exact: true }).fill("yesterday 16:00");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    const start = new Date();
    start.setDate(start.getDate() - 1);
    await expect
      .poll(() => Date.parse(query(page).get("from") ?? ""))
      .toBe(start.setHours(15, 0, 0, 0));
    expect(Date.parse(query(page).get("to") ?? "") - start.getTime()).toBe(3_600_000);
    await page.context().close();
  });

  test("dragging in one chart changes the range, the address and every chart, and back undoes it", async () => {
    const { page, complaints } = await open("gpu?range=5m", plots);
    const count = await page.locator(plots).count();
    expect(count).toBeGreaterThan(2);
    const box = await page.locator(plots).first().boundingBox();
    if (box === null) throw new Error("the chart has no box");
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.58, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, y, { steps: 5 });
    await page.mouse.move(box.x + box.width * 0.98, y, { steps: 5 });
    await page.mouse.up();
    await expect.poll(() => query(page).get("from")).not.toBe(null);
    const seconds = (name: string) => Date.parse(query(page).get(name) ?? "") / 1_000;
    expect(seconds("to") - seconds("from")).toBeGreaterThan(100);
    expect(seconds("to") - seconds("from")).toBeLessThan(140);
    const range = await rangeButton(page);
    await expect
      .poll(async () => (await summaries(page)).every((text) => text.includes(range)))
      .toBe(true);
    await page.reload();
    await page.waitForSelector(plots);
    expect(await rangeButton(page)).toBe(range);
    await page.goBack();
    await expect.poll(() => rangeButton(page)).toBe("Last 5 minutes");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("pointing at one chart reads all of them at that instant, and so do arrow keys", async () => {
    const { page } = await open("gpu?range=5m", plots);
    const heads = () => page.locator(".chart-legend th.numeric:nth-child(2)").allInnerTexts();
    await page.locator(plots).first().hover();
    await expect.poll(async () => [...new Set(await heads())]).toEqual(["at cursor"]);
    expect(await page.locator(".plot-tip").count()).toBe(1);
    await page.mouse.move(0, 0);
    await expect.poll(async () => [...new Set(await heads())]).toEqual(["now"]);
    await page.locator(".plot").nth(1).focus();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(async () => [...new Set(await heads())]).toEqual(["at cursor"]);
    const spoken = () =>
      page.locator(".chart:has(.plot)").nth(1).locator("[role=status]").innerText();
    await expect.poll(spoken).toMatch(/^\d\d:\d\d:\d\d: /);
    const first = await spoken();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(spoken).not.toBe(first);
    await page.context().close();
  });

  test("a chart's CSV holds the very texts the hub's API gives, and JSON and PNG come too", async () => {
    const toMs = Math.floor(Date.now() / 1_000) * 1_000 - 2_000;
    const [from, to] = [toMs - 20_000, toMs].map((ms) => new Date(ms).toISOString());
    const { page } = await open(`gpu?from=${from}&to=${to}`, ".chart-legend td");
    const asked = page.waitForRequest(
      (one) => one.url().includes("query_range") && one.url().includes("query=gpu_power_watts%7B"),
    );
    await page.reload();
    await page.waitForSelector(".chart-legend td");
    const body = (await (await page.request.get((await asked).url())).json()) as {
      data: { result: readonly { values: readonly (readonly [number, string])[] }[] };
    };
    const values = body.data.result[0]?.values ?? [];
    expect(values.length).toBeGreaterThan(3);
    const saved = async (label: string): Promise<Buffer> => {
      await page.getByRole("button", { name: "Menu of Power" }).click();
      const download = page.waitForEvent("download");
      await page.getByRole("menuitem", { name: label }).click();
      return readFile(await (await download).path());
    };
    const rows = (await saved("CSV table")).toString().trim().split("\n");
    expect(rows.slice(0, 3).join("\n")).toContain("# unit watts");
    expect(rows.find((row) => row.startsWith("time,"))).toBe("time,board,limit");
    for (const [seconds, text] of values) {
      const time = new Date(seconds * 1_000).toISOString();
      expect(rows.find((row) => row.startsWith(time))?.split(",")[1]).toBe(text);
    }
    const file = JSON.parse((await saved("JSON")).toString()) as {
      series: { points: unknown[] }[];
    };
    expect(file.series[0]?.points).toEqual(values);
    expect((await saved("PNG picture")).subarray(1, 4).toString()).toBe("PNG");
    await page.context().close();
  });

  test("eight pages of a browser share one live stream, and go on when the first is closed", async () => {
    const proxy = await startProxy("/shared/", suite.up.url);
    const { page: first } = await openPage(suite.browser, proxy.url);
    const context = first.context();
    const others: Page[] = [];
    for (let at = 0; at < 7; at += 1) {
      const page = await context.newPage();
      await page.goto(proxy.url);
      await page.waitForSelector("tbody tr[data-uuid]");
      others.push(page);
    }
    const live = (page: Page) => page.locator(".live-state").innerText();
    for (const page of [first, ...others])
      await expect.poll(() => live(page), { timeout: 10_000 }).toContain("Live");
    expect(proxy.requests.filter((url) => url.startsWith("api/live"))).toHaveLength(1);
    await first.close();
    // Longer than a page without frames stays live.
    await sleep(5_000);
    for (const page of others) expect(await live(page)).toContain("Live");
    expect(proxy.requests.filter((url) => url.startsWith("api/live"))).toHaveLength(1);
    await context.close();
    proxy.close();
  });

  test("a browser without shared workers has a stream for each page", async () => {
    const proxy = await startProxy("/alone/", suite.up.url);
    const context = await suite.browser.newContext();
    await context.addInitScript("delete window.SharedWorker");
    const pagesOpen = [await context.newPage(), await context.newPage()];
    for (const page of pagesOpen) {
      await page.goto(proxy.url);
      await expect
        .poll(() => page.locator(".live-state").innerText(), { timeout: 10_000 })
        .toContain("Live");
    }
    expect(proxy.requests.filter((url) => url.startsWith("api/live"))).toHaveLength(2);
    await context.close();
    proxy.close();
  });

  test("under a path of a reverse proxy every page, chart and live number works", async () => {
    const proxy = await startProxy("/gpus/", suite.up.url);
    const { page, complaints } = await openPage(
      suite.browser,
      proxy.url,
      {},
      "tbody tr[data-uuid]",
    );
    const outside: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(proxy.url)) outside.push(request.url());
    });
    await page.keyboard.press("g");
    await page.keyboard.press("g");
    await page.waitForSelector(plots);
    expect(page.url()).toMatch(`${proxy.url}gpu`);
    await page.reload();
    await page.waitForSelector(".chart-legend td");
    expect(await page.locator(".live-state").innerText()).toContain("Live");
    await page.goto(`${proxy.url}explore?expr=gpu_up`);
    await page.waitForSelector(".chart-legend td");
    expect(outside).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
    proxy.close();
  });

  test("axe finds nothing wrong with the palette, the time picker and the sheet of keys", async () => {
    const { page } = await open("alerts");
    const look = async (): Promise<string[]> => {
      await page.evaluate(axe);
      return page.evaluate<string[]>(
        "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`))",
      );
    };
    await page.keyboard.press("Control+k");
    await page.waitForSelector("dialog.palette[open] input");
    expect(await look()).toEqual([]);
    // A busy browser draws the closed dialog a moment after the key, which is faster than a user types.
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog.palette[open]", { state: "detached" });
    await page.evaluate(
      "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))",
    );
    await page.keyboard.press("t");
    await page.waitForSelector(".picker");
    expect(await look()).toEqual([]);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".picker", { state: "detached" });
    await page.keyboard.press("?");
    await page.waitForSelector("dialog.help[open]");
    expect(await look()).toEqual([]);
    await page.context().close();
  });

  test("who is no longer logged in is sent to the login form, and not round in circles", async () => {
    const { page } = await open("explore?expr=gpu_up", ".chart-legend td");
    await page.route("**/api/v1/**", (route) =>
      route.fulfill({ status: 401, json: { status: "error", error: "This hub needs a token." } }),
    );
    const seen: string[] = [];
    page.on("request", (request) => {
      if (request.isNavigationRequest()) seen.push(request.url().slice(suite.up.url.length));
    });
    await page.getByRole("button", { name: "Table" }).click();
    await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe("login");
    expect(seen.slice(0, -1)).toEqual(["explore?expr=gpu_up&tab=table"]);
    await page.waitForLoadState();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  test("a hub that dies shows reconnecting on any page, and coming back loses nothing of the view", async () => {
    const { page, complaints } = await open("gpu?range=5m", plots);
    const address = page.url();
    await suite.up.process.stop();
    await page.waitForSelector(".notice.connection");
    expect(await page.locator(".notice.connection").innerText()).toContain("reconnecting");
    expect(await page.locator(plots).count()).toBeGreaterThan(2);
    await suite.restart();
    await page.waitForSelector(".notice.connection", { state: "detached", timeout: 30_000 });
    expect(page.url()).toBe(address);
    await expect
      .poll(async () => (await summaries(page)).every((text) => /now \d/.test(text)), {
        timeout: 20_000,
      })
      .toBe(true);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
