// The documentation site, built by `npm run docs:site` and served by a hub: every link works, search finds pages, and
// nothing is blocked by the hub's Content-Security-Policy or requested from another host.

import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild, repository } from "../../engines/program.ts";
import { couldInstall, toolOrSkip } from "../../engines/tools.ts";
import { openBrowser, openPage } from "../web/browser.ts";
import { type RunningUp, startUp } from "../web/up.ts";

/** Size limit for including the site in the packages. */
const MAX_COMPRESSED_MB = 4;
let up: RunningUp | undefined;
let missing = "";
let report = "";

beforeAll(async () => {
  await ensureBuild();
  const builder = path.join(repository, "scripts", "docs-site", "build.mjs");
  const built = await runProcess(process.execPath, [builder], { timeoutMs: 400_000 });
  if (built.code !== 0 && built.stderr.includes("npm could not install") && !couldInstall()) {
    missing = "needs VitePress, which could not be installed here";
    return;
  }
  if (built.code !== 0) throw new Error(built.stderr);
  report = built.stderr;
  up = await startUp(await freePort(), "sim:2");
}, 600_000);

afterAll(async () => {
  await up?.process.stop();
});

function running(context: { skip(note: string): never }): RunningUp {
  return up ?? context.skip(missing);
}

interface CrawledPage {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

function parsePage(html: string, at: string): CrawledPage {
  const text = html.replaceAll("&amp;", "&");
  const links = [
    ...text.matchAll(/<(?:a|img|script|link|source)\b[^>]*?\b(?:href|src)="([^"]*)"/g),
  ];
  return {
    ids: new Set([...html.matchAll(/\bid="([^"]+)"/g)].map(([, id = ""]) => id)),
    links: links.map(([, link = ""]) => new URL(link, at).href),
  };
}

test("every link and anchor of the site leads somewhere", { timeout: 180_000 }, async (context) => {
  const { url } = running(context);
  const docs = `${url}docs/`;
  const pages = new Map<string, CrawledPage>();
  const anchors: { from: string; to: string }[] = [];
  const broken: string[] = [];
  const seen = new Set([docs]);
  for (const at of seen) {
    const answer = await fetch(at);
    const body = await answer.text();
    if (answer.status !== 200) broken.push(`${at}: ${answer.status}`);
    // A report that is offered for download is not a documentation page.
    if (!/text\/html/.test(answer.headers.get("content-type") ?? "") || !body.includes("VPContent"))
      continue;
    const page = parsePage(body, at);
    pages.set(at, page);
    for (const link of page.links.filter((one) => one.startsWith(url))) {
      const [target = "", anchor] = link.split("#");
      if (anchor !== undefined && anchor !== "") anchors.push({ from: at, to: link });
      if (target.startsWith(docs)) seen.add(target);
      else broken.push(`${at}: ${link} leaves the site`);
    }
  }
  for (const { from, to } of anchors) {
    const [target = "", anchor = ""] = to.split("#");
    if (pages.get(target)?.ids.has(decodeURIComponent(anchor)) === false)
      broken.push(`${from}: ${to} names no heading`);
  }
  expect([...new Set(broken)]).toEqual([]);
  expect(pages.size).toBeGreaterThan(90);
  const guide = readFileSync(path.join(repository, "docs/guides/hub.md"), "utf8");
  const [, title = "?"] = /^# (.+)$/m.exec(guide) ?? [];
  expect(await (await fetch(`${docs}guides/hub.html`)).text()).toContain(title);
});

test("the site is small enough to ship", (context) => {
  running(context);
  const [, compressed = ""] = /, ([\d.]+) MB compressed/.exec(report) ?? [];
  expect(compressed).not.toBe("");
  expect(Number(compressed)).toBeLessThan(MAX_COMPRESSED_MB);
});

test("a page that is not there is a 404 of the site itself", async (context) => {
  const { url } = running(context);
  const answer = await fetch(`${url}docs/guides/nothing.html`);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain("/docs/assets/");
});

test.for(["light", "dark"] as const)(
  "in a browser with the %s theme, search, diagrams, copy buttons and the theme switch work under the hub's policy",
  { timeout: 120_000 },
  async (colorScheme, context) => {
    const { url: hub } = running(context);
    const browser = await openBrowser(toolOrSkip(context, "chromium"));
    try {
      const address = `${hub}docs/architecture.html`;
      const opened = await openPage(browser, address, { colorScheme }, ".diagram svg");
      const { page, complaints, strangers } = opened;
      const isDark = async (): Promise<boolean> => (await page.locator("html.dark").count()) > 0;
      expect(await isDark()).toBe(colorScheme === "dark");
      await page.locator(".VPSwitchAppearance").first().click();
      await expect.poll(isDark).toBe(colorScheme !== "dark");

      await page.keyboard.press("Control+k");
      await page.fill("#localsearch-input", "silence an alert");
      const hits = page.locator("#localsearch-list .result");
      await hits.first().waitFor();
      await expect.poll(() => hits.allInnerTexts()).toContainEqual(expect.stringMatching(/alert/i));
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => !url.pathname.endsWith("architecture.html"));

      await page.goto(`${hub}docs/guides/hub.html`);
      const button = page.locator("button.copy").first();
      await button.waitFor({ state: "attached" });
      await button.click({ force: true });
      await expect.poll(() => button.getAttribute("class")).toContain("copied");
      const unloaded = `[...document.querySelectorAll(".vp-doc img")].filter((one) => one.naturalWidth === 0).length`;
      expect(await page.evaluate(unloaded)).toBe(0);
      expect([complaints, strangers]).toEqual([[], []]);
    } finally {
      await browser.close();
    }
  },
);

test("the page offers the documentation in its help", { timeout: 60_000 }, async (context) => {
  const { url: hub } = running(context);
  const browser = await openBrowser(toolOrSkip(context, "chromium"));
  try {
    const { page, complaints } = await openPage(browser, hub);
    await page.getByRole("button", { name: "Keyboard help" }).click();
    await page.getByRole("link", { name: "Docs" }).click();
    await page.waitForURL(`${hub}docs/`);
    await page.waitForSelector(".VPSidebar");
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});
