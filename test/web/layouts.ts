/** Checks for every page, at every width and in both themes: nothing is wider than the window, and axe finds no violation. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { repository } from "../../engines/program.ts";
import { violationsOn } from "./accessible.ts";

const widths = [390, 1280, 2560] as const;
const schemes = ["dark", "light"] as const;
/** Between a phone and a wide screen columns are hidden one by one: these widths are checked for overflow only. */
const between = [760, 900, 1_000, 1_100, 1_200, 1_340, 1_600] as const;
/** axe checks a phone and a desktop in the dark theme; the light one differs only in its colours. */
const audited: ReadonlySet<string> = new Set(["dark 390", "dark 1280", "light 1280"]);

/**
 * Resizes one loaded page through all widths and themes. Returns a line per fault; `picture` is the name of screenshots for manual
 * review.
 */
export async function layoutFaults(page: Page, picture?: string): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      const layout = `${colorScheme} ${width}`;
      await page.setViewportSize({ width, height: 900 });
      await settle(page);
      faults.push(...(await misfits(page)).map((misfit) => `${layout}: ${misfit}`));
      if (picture !== undefined) await screenshot(page, `${picture}-${colorScheme}-${width}`);
      if (audited.has(layout))
        faults.push(...(await violationsOn(page)).map((violation) => `${layout}: ${violation}`));
    }
  }
  for (const width of between) {
    await page.setViewportSize({ width, height: 900 });
    await settle(page);
    faults.push(...(await misfits(page)).map((misfit) => `${width}: ${misfit}`));
  }
  return faults;
}

/** A page wider than its window, and numbers in tables that their cell cuts off. */
const misfits = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const root = document.documentElement;
    const overflowPx = root.scrollWidth - root.clientWidth;
    const cut = [...document.querySelectorAll("td .value, td .absent")].filter((one) => {
      const [own, cell] = [one.getBoundingClientRect(), one.closest("td").getBoundingClientRect()];
      return own.width > 0 && own.right > cell.right + 1;
    });
    return [
      ...(overflowPx > 0 ? [overflowPx + " px wider than the window"] : []),
      ...cut.slice(0, 3).map((one) => one.textContent + " is cut off in " + one.closest("td").className),
    ];
  })()`);

/** Two frames: the one that notices the new size, and the one that draws the result. */
const settle = (page: Page): Promise<void> =>
  page.evaluate<void>(
    "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50))))",
  );

async function screenshot(page: Page, name: string): Promise<void> {
  const folder = path.join(repository, "screenshots");
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}
