/** What every page must hold at every width and in both themes: nothing wider than the window, and nothing axe objects to. */
import type { Browser, Page } from "playwright-core";
import { violationsOn } from "./accessible.ts";
import { openPage } from "./browser.ts";

export const widths = [390, 1280, 2560] as const;
export const schemes = ["dark", "light"] as const;

export interface WidthReport {
  readonly complaints: readonly string[];
  /** Requests to another origin. */
  readonly strangers: readonly string[];
  /** Pixels the page is wider than its window. */
  readonly overflowPx: number;
  /** Rule and element of each violation. */
  readonly violations: readonly string[];
}

/** Opens the address, waits for `ready`, and looks. `then` may check more before the page is closed. */
export async function look(
  browser: Browser,
  url: string,
  options: { width: number; colorScheme: "dark" | "light"; ready: string },
  then: (page: Page) => Promise<void> = async () => undefined,
): Promise<WidthReport> {
  const { width, colorScheme, ready } = options;
  const { page, complaints, strangers } = await openPage(
    browser,
    url,
    { viewport: { width, height: 900 }, colorScheme },
    ready,
  );
  const overflowPx = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  const violations = await violationsOn(page);
  await then(page);
  await page.context().close();
  return { complaints, strangers, overflowPx, violations };
}
