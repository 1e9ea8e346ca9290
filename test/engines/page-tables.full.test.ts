/** What holds for every table and every tooltip of the page: heads sort, numbers are aligned, nothing leaves the screen. */
import { expect, test } from "vitest";
import { openPage } from "../web/browser.ts";
import { describeInBrowser } from "../web/suite.ts";

describeInBrowser("tables and tooltips", { timeoutMs: 300_000 }, (suite) => {
  test("a head sorts wherever it is clicked, on every table, and ends where its numbers end", async () => {
    const { page } = await openPage(suite.browser, suite.up.url);
    let heads = 0;
    for (const address of [
      "fleet",
      "gpu",
      "host",
      "jobs",
      "explore?expr=gpu_power_watts&tab=table",
      "alerts?tab=rules",
      "alerts?tab=history",
      "analytics?range=24h",
      "system?tab=machines",
      "system?tab=storage",
    ]) {
      await page.goto(suite.up.url + address);
      const sortable = page.locator("main th[aria-sort]:visible");
      await sortable.first().waitFor();
      for (let at = 0; at < (await sortable.count()); at += 1) {
        const head = sortable.nth(at);
        const before = await head.getAttribute("aria-sort");
        const box = await head.boundingBox();
        if (box === null || box.width < 8) continue;
        heads += 1;
        await head.click({ position: { x: box.width - 2, y: box.height - 2 } });
        await expect
          .poll(() => head.getAttribute("aria-sort"), { message: `${address} ${at}` })
          .not.toBe(before);
      }
      // Text of heads and of numbers in the same column; a cell with more than a number is left out.
      expect(
        await page.evaluate<string[]>(`(() => {
          const end = (element) => {
            const range = document.createRange();
            const text = [...element.querySelectorAll("*"), element].flatMap((one) => [...one.childNodes])
              .find((node) => node.nodeType === 3 && node.data.trim() !== "" && !node.parentElement.closest(".arrow"));
            if (text === undefined) return undefined;
            range.selectNodeContents(text);
            return range.getBoundingClientRect().right;
          };
          return [...document.querySelectorAll("main .table")].flatMap((table) =>
            [...table.querySelectorAll("thead th.numeric[aria-sort]")].flatMap((head) => {
              const cell = table.querySelector("tbody tr:not(.none, .space)")?.children[head.cellIndex];
              if (cell === undefined || cell.children.length > 0) return [];
              const [own, numbers] = [end(head), end(cell)];
              return own === undefined || numbers === undefined || Math.abs(own - numbers) <= 1
                ? []
                : [head.textContent + ": " + own + " and " + numbers];
            }));
        })()`),
        address,
      ).toEqual([]);
    }
    expect(heads).toBeGreaterThan(25);
    await page.context().close();
  });

  test("every tooltip stays inside the screen, on a phone and on a desktop", async () => {
    const { page } = await openPage(suite.browser, suite.up.url);
    for (const viewport of [
      { width: 390, height: 700 },
      { width: 1_280, height: 800 },
    ]) {
      await page.setViewportSize(viewport);
      for (const address of ["fleet", "gpu?range=5m"]) {
        await page.goto(suite.up.url + address);
        await page.waitForSelector("main [data-tip]");
        const found = await page.evaluate<{ shown: number; outside: string[] }>(`(async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const outside = [];
          let shown = 0;
          for (const target of [...document.querySelectorAll("[data-tip]")].slice(0, 150)) {
            if (!target.isConnected || !target.checkVisibility()) continue;
            target.scrollIntoView({ block: shown % 2 === 0 ? "end" : "start", behavior: "instant" });
            await frame();
            target.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
            await frame();
            const tip = document.querySelector(".tip");
            if (tip === null) continue;
            shown += 1;
            const { left, right, top, bottom } = tip.getBoundingClientRect();
            if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight)
              outside.push(tip.textContent + " " + [left, top, right, bottom].join(" "));
          }
          return { shown, outside };
        })()`);
        expect(found.outside, `${address} at ${viewport.width}`).toEqual([]);
        expect(found.shown).toBeGreaterThan(10);
      }
    }
    await page.context().close();
  });
});
