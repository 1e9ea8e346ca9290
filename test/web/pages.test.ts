/**
 * Checks of every page: the keyboard alone reaches everything, and nothing is wider than the window at any width in either theme. With
 * `GPULSE_SCREENSHOTS=1` a screenshot of each is saved in `screenshots/` for review.
 */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { waitUntil } from "../../engines/wait.ts";
import { pageNames } from "../../src/hub/page-names.ts";
import { openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import { describeInBrowser } from "./suite.ts";

/** The shell is drawn first; a page has loaded when it has a heading, a chart or a table of its own, or a text for an empty page. */
const arrived = "main :is(h2, h3, .chart, table, .empty)";

/** Elements that Tab must reach: everything in the page that takes keys, is visible, and is not one of several radio buttons. */
const wanted = `(() => {
  const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]");
  return [...all].filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ checkVisibilityCSS: true })
    && one.closest("[inert], dialog:not([open])") === null && (one.type !== "radio" || one.checked)).length;
})()`;

/** Resolves when no element was added for a second, or after ten: live values only change text, and their stream stays open. */
const settled = `new Promise((resolve) => {
  let quiet = setTimeout(resolve, 1000);
  setTimeout(resolve, 10000);
  new MutationObserver((changes) => {
    if (!changes.some(({ addedNodes }) => [...addedNodes].some((node) => node.nodeType === 1))) return;
    clearTimeout(quiet);
    quiet = setTimeout(resolve, 1000);
  }).observe(document.body, { childList: true, subtree: true });
})`;

/** Marks the focused element, and returns whether it is new; the document itself ends a round. */
const mark = `(() => {
  const here = document.activeElement;
  if (here === null || here === document.body) return "end";
  if (here.dataset.walked === "yes") return "seen";
  here.dataset.walked = "yes";
  return here.checkVisibility() ? "new" : "unseen";
})()`;

/** Number of elements that Tab reached in one round; stops if the focus is trapped. */
async function walk(page: Page): Promise<{ reached: number; invisible: number }> {
  let reached = 0;
  let invisible = 0;
  let again = 0;
  for (let steps = 0; steps < 1_500 && again < 3; steps++) {
    await page.keyboard.press("Tab");
    const what = await page.evaluate<string>(mark);
    again = what === "new" || what === "unseen" ? 0 : again + 1;
    if (what === "new") reached++;
    if (what === "unseen") invisible++;
  }
  return { reached, invisible };
}

describeInBrowser("every page", { timeoutMs: 90_000 }, (suite) => {
  beforeAll(async () => {
    // The pages are opened with a past range, which needs data.
    const query = encodeURIComponent("count_over_time(gpu_up[1m]) >= 5");
    await waitUntil({ what: "five seconds of history", timeoutMs: 60_000 }, async () => {
      const answer = await fetch(`${suite.up.url}api/v1/query?query=${query}`);
      const { data } = (await answer.json()) as { data: { result: unknown[] } };
      return data.result.length > 0 ? true : undefined;
    });
  }, 60_000);

  /** Two GPUs for the comparison page. */
  const address = async (name: string, query: string): Promise<string> => {
    if (name !== "compare") return `${suite.up.url}${name}?${query}`;
    const { devices } = (await (await fetch(`${suite.up.url}api/fleet`)).json()) as {
      devices: { uuid: string }[];
    };
    const gpus = devices.slice(0, 2).map(({ uuid }) => uuid);
    return `${suite.up.url}${name}?gpus=${gpus.join(",")}&${query}`;
  };

  test.each(pageNames)("Tab alone reaches everything on the %s page", async (name) => {
    // A fixed range: a page that redraws during the walk has new elements every second.
    const to = Math.floor(Date.now() / 1_000) * 1_000;
    const range = `from=${new Date(to - 60_000).toISOString()}&to=${new Date(to).toISOString()}`;
    const { page } = await openPage(suite.browser, await address(name, range), {}, arrived);
    await page.evaluate(settled);
    const there = await page.evaluate<number>(wanted);
    const { reached, invisible } = await walk(page);
    expect(there).toBeGreaterThan(10);
    expect(invisible).toBe(0);
    const left = await page.evaluate<string[]>(
      `[...document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary)")].filter((one) => one.tabIndex >= 0
          && !one.disabled && one.type !== "radio" && one.dataset.walked !== "yes" && one.checkVisibility({ checkVisibilityCSS: true })
          && one.closest("[inert], dialog:not([open])") === null).map((one) => one.outerHTML.slice(0, 160))`,
    );
    expect(left).toEqual([]);
    expect(reached).toBeGreaterThanOrEqual(Math.min(there, 10));
    await page.context().close();
  });

  test.each(pageNames)("%s fits at every width in both themes", async (name) => {
    const { page, complaints } = await openPage(
      suite.browser,
      await address(name, "range=5m"),
      {},
      arrived,
    );
    expect(await layoutFaults(page, name)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
