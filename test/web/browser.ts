/** A real Chromium that talks to loopback only, and writes down what a page complains about or asks of other hosts. */
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
  /** Console errors and uncaught exceptions; a broken connection alone is not one. */
  readonly complaints: readonly string[];
  /** Requests to anything but the hub itself. */
  readonly strangers: readonly string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  /** What must be there before it counts as open. */
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
