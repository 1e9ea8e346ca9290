/**
 * Loading is not absence: while the hub's answers are awaited, no page says that something is missing or that nothing is wrong. Once
 * they arrive, each of them was compressed.
 */
import type { Page, Response } from "playwright-core";
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

/** Smaller responses fit into one network packet. */
const SMALL_BYTES = 1_400;

describeInBrowser("a page before its data", {}, (suite) => {
  /** The responses with a larger body by path, and those of them that were not compressed. */
  const [large, plain] = [new Set<string>(), new Set<string>()];
  const record = async (response: Response): Promise<void> => {
    const { pathname } = new URL(response.url());
    const headers = response.headers();
    // A stream has no body yet, and a page that is closed has none any more.
    if (response.status() !== 200 || pathname === "/api/live") return;
    const bytes = await response.body().catch(() => Buffer.alloc(0));
    if (bytes.length < SMALL_BYTES || headers["content-type"]?.startsWith("image/png")) return;
    large.add(pathname);
    if (headers["content-encoding"] === undefined) plain.add(pathname);
  };

  test.each(places)("%s claims no absence before the hub has answered", async (place) => {
    const context = await suite.browser.newContext({ viewport: { width: 1440, height: 900 } });
    // Requests of a shared worker could not be held back.
    await context.addInitScript("delete window.SharedWorker");
    const page = await context.newPage();
    const recorded: Promise<void>[] = [];
    page.on("response", (response) => recorded.push(record(response)));
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
    await Promise.all(recorded);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  });

  test("every answer to these pages was compressed, and so is the live stream", async () => {
    expect([...plain]).toEqual([]);
    const paths = [...large].join("\n");
    for (const path of [
      /^\/$|^\/fleet$/m,
      /\.js$/m,
      /\.css$/m,
      /^\/api\/v1\/query_range$/m,
      /^\/api\/v1\/query$/m,
      /^\/api\/v1\/series$/m,
      /^\/api\/v1\/rules$/m,
      /^\/api\/jobs$/m,
    ])
      expect(paths).toMatch(path);
    const abort = new AbortController();
    const live = await fetch(`${suite.up.url}api/live`, {
      headers: { "accept-encoding": "gzip", accept: "text/event-stream" },
      signal: abort.signal,
    });
    expect(live.headers.get("content-encoding")).toBe("gzip");
    abort.abort();
  });
});
