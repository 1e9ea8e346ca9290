/** What every page must hold at every width and in both themes: nothing wider than the window, and nothing axe objects to. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { repository } from "../../engines/program.ts";
import { violationsOn } from "./accessible.ts";

const widths = [390, 1280, 2560] as const;
const schemes = ["dark", "light"] as const;
/** axe looks at a phone and a desktop in the dark theme; the light one differs only in its colours. */
const audited: ReadonlySet<string> = new Set(["dark 390", "dark 1280", "light 1280"]);

/**
 * Resizes one loaded page through all widths and themes. Returns a line per fault; `picture` names screenshots that are
 * left for a person to look at.
 */
export async function layoutFaults(page: Page, picture?: string): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      const layout = `${colorScheme} ${width}`;
      await page.setViewportSize({ width, height: 900 });
      await settle(page);
      const overflowPx = await page.evaluate<number>(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      if (overflowPx > 0) faults.push(`${layout}: ${overflowPx} px wider than the window`);
      if (picture !== undefined) await screenshot(page, `${picture}-${colorScheme}-${width}`);
      if (audited.has(layout))
        faults.push(...(await violationsOn(page)).map((violation) => `${layout}: ${violation}`));
    }
  }
  return faults;
}

/** Two frames: the one that notices the new size, and the one that draws what follows from it. */
const settle = (page: Page): Promise<void> =>
  page.evaluate<void>(
    "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50))))",
  );

async function screenshot(page: Page, name: string): Promise<void> {
  const folder = path.join(repository, "screenshots");
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}
