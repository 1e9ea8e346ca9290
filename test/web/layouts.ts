/**
 * Checks of one loaded page at every width and in both themes: nothing is wider than the window, no text is a raw value of the program,
 * and axe finds no violation.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { repository } from "../../engines/program.ts";
import { violationsOn } from "./accessible.ts";

/** A phone, a desktop and a wall display. */
const screens = [
  { width: 390, height: 844 },
  { width: 1280, height: 900 },
  { width: 2560, height: 1440 },
] as const;
const schemes = ["dark", "light"] as const;
/** Between a phone and a wide screen columns are hidden one by one: these widths are checked for overflow only. */
const between = [760, 900, 1_000, 1_100, 1_200, 1_340, 1_600] as const;
/** axe checks a phone and a desktop in the dark theme; the light one differs only in its colours. */
const audited: ReadonlySet<string> = new Set(["dark 390", "dark 1280", "light 1280"]);
const everyLayout: ReadonlySet<string> = new Set(
  schemes.flatMap((scheme) => screens.map(({ width }) => `${scheme} ${width}`)),
);
/** `GPULSE_SCREENSHOTS=1` saves a picture of each layout in `screenshots/`, to be looked at. */
const savesPictures = process.env["GPULSE_SCREENSHOTS"] === "1";

/** Resizes one loaded page through all widths and themes. Returns a line per fault; `picture` is the name of its screenshots. */
export async function layoutFaults(page: Page, picture?: string): Promise<string[]> {
  const faults = await screenFaults(page, picture, audited);
  for (const width of between) {
    await page.setViewportSize({ width, height: 900 });
    await settle(page);
    faults.push(...(await misfits(page)).map((misfit) => `${width}: ${misfit}`));
  }
  return faults;
}

/** The same on a phone, a desktop and a wall display only; axe checks the given layouts. */
export async function screenFaults(
  page: Page,
  picture?: string,
  layouts: ReadonlySet<string> = everyLayout,
): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    for (const screen of screens) {
      const layout = `${colorScheme} ${screen.width}`;
      await page.setViewportSize(screen);
      await settle(page);
      faults.push(...(await misfits(page)).map((misfit) => `${layout}: ${misfit}`));
      if (picture !== undefined && savesPictures)
        await screenshot(page, `${picture}-${colorScheme}-${screen.width}`);
      if (layouts.has(layout))
        faults.push(...(await violationsOn(page)).map((violation) => `${layout}: ${violation}`));
    }
  }
  return faults;
}

/** A page wider than its window, numbers in tables that their cell cuts off, and texts such as NaN that no user should read. */
const misfits = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const root = document.documentElement;
    const overflowPx = root.scrollWidth - root.clientWidth;
    const cut = [...document.querySelectorAll("td .value, td .absent")].filter((one) => {
      const [own, cell] = [one.getBoundingClientRect(), one.closest("td").getBoundingClientRect()];
      return own.width > 0 && own.right > cell.right + 1;
    });
    const raw = /\\bNaN\\b|\\bundefined\\b|\\bnull\\b|\\bInfinity\\b|\\[object |Invalid Date/;
    const texts = [
      ...document.body.innerText.split("\\n"),
      ...[...document.querySelectorAll("[aria-label], [title], [data-tip]")].flatMap(
        (one) => ["aria-label", "title", "data-tip"].map((name) => one.getAttribute(name) ?? "")),
    ];
    return [
      ...(overflowPx > 0 ? [overflowPx + " px wider than the window"] : []),
      ...cut.slice(0, 3).map((one) => one.textContent + " is cut off in " + one.closest("td").className),
      ...texts.filter((text) => raw.test(text)).slice(0, 3).map((text) => "raw value in: " + text.slice(0, 160)),
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
