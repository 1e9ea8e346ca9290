/** A real Chromium that can reach loopback only, and records a page's complaints and its requests to other hosts. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function openBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: flags });
}

export interface WatchedPage {
  readonly page: Page;
  /** Console errors and uncaught exceptions; a broken connection alone does not count. */
  readonly complaints: readonly string[];
  /** Requests to any host besides the hub. */
  readonly strangers: readonly string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  /** The page counts as open once this selector matches. */
  ready = "tbody tr[data-uuid]",
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  const strangers: string[] = [];
  page.on("console", (message) => {
    const broken = message.text().includes("net::ERR_");
    if ((message.type() === "error" || message.type() === "warning") && !broken)
      complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin)) strangers.push(request.url());
  });
  await page.goto(url);
  await page.waitForSelector(ready);
  return { page, complaints, strangers };
}
