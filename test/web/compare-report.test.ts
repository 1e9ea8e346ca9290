import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findTool } from "../../engines/tools.ts";
import { compare } from "../../src/runs/compare/compare.ts";
import { repeatsOf } from "../fixtures/runs/compare.ts";
import { seeded } from "../../src/runs/compare/random.ts";
import { htmlOf } from "../../src/runs/compare/report/html.ts";
import { openBrowser } from "./browser.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

const report = (...names: readonly string[]): string => {
  const random = seeded(1);
  const usual = { repeats: 5, work: 5_000, between: 0.004, within: 0.03, utilization: 1 };
  const subjects = names.map((name, at) =>
    repeatsOf({ ...usual, name, watts: 250 + 20 * at }, random),
  );
  return htmlOf(compare(subjects), { madeMs: 0, version: "1" });
};

/** Compares the edges of every verdict with those of the window and of its scrollable box, in pixels; returns the first visible one. */
const seen = `(() => {
  const cells = [...document.querySelectorAll("td.t.real, td.t.noise, td.t.same, td.t.untold")];
  return {
    count: cells.length,
    cut: cells.filter((cell) => {
      const at = cell.getBoundingClientRect();
      const wrap = cell.closest(".wrap").getBoundingClientRect();
      return at.width === 0 || at.right > Math.min(innerWidth, wrap.right) + 1 || at.left < wrap.left - 1;
    }).length,
    overflowPx: document.documentElement.scrollWidth - innerWidth,
    shares: [...document.querySelectorAll("figure")]
      .filter((one) => one.textContent.includes("(%)"))
      .map((one) => [...one.querySelectorAll('.tick[text-anchor="end"]')]
        .map((tick) => tick.textContent).filter((text) => !text.endsWith("s")).map(Number)),
  };
})()`;

interface Seen {
  readonly count: number;
  readonly cut: number;
  readonly overflowPx: number;
  readonly shares: readonly (readonly number[])[];
}

describe.skipIf("missing" in chromium)(
  `the report of a comparison in a real browser${skipped}`,
  { timeout: 90_000 },
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 60_000);
    afterAll(async () => browser.close());

    test.each([
      ["two subjects", ["baseline-fp16-batch-64", "candidate-fp8-batch-128"]],
      ["three subjects", ["driver-570.86.15", "driver-580.95.05", "driver-590.12.01"]],
      ["a name without a break", ["a".repeat(60), "b".repeat(60)]],
    ])("no verdict of %s is cut off at any width, in either scheme", async (_, names) => {
      const html = report(...names);
      for (const colorScheme of ["light", "dark"] as const)
        for (const width of [400, 1280, 1920]) {
          const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
          await page.setContent(html);
          const { count, cut, overflowPx } = await page.evaluate<Seen>(seen);
          expect({ width, cut, overflowPx }).toEqual({ width, cut: 0, overflowPx: 0 });
          expect(count).toBeGreaterThan(5);
          await page.close();
        }
    });

    test.each([
      ["two subjects", ["baseline-fp16-batch-64", "candidate-fp8-batch-128"]],
      ["three groups", ["driver-570.86.15", "driver-580.95.05", "driver-590.12.01"]],
    ])("printed, the report of %s is one page that starts with the verdict", async (_, names) => {
      const page = await browser.newPage({ colorScheme: "dark" });
      await page.setContent(report(...names));
      const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
      expect(pdf.toString("latin1").match(/\/Type\s*\/Page(?!s)/g)).toHaveLength(1);
      await page.emulateMedia({ media: "print" });
      const text = await page.locator("body").innerText();
      expect(text.indexOf("Clear.")).toBeGreaterThan(0);
      expect(text.indexOf("Clear.")).toBeLessThan(text.indexOf("Real differences"));
      expect(text).toContain("Means over repeats");
      expect(text).toContain("not MLPerf power");
      expect(text).not.toContain("Readings of every run");
      await page.close();
    });

    test("the axis of a utilisation that is always 100 % ends at 100 %", async () => {
      const page = await browser.newPage();
      await page.setContent(report("a", "b"));
      const { shares } = await page.evaluate<Seen>(seen);
      expect(shares.length).toBeGreaterThan(0);
      for (const ticks of shares) expect(Math.max(...ticks)).toBeLessThanOrEqual(100);
      expect(shares.flat()).toContain(100);
      await page.close();
    });
  },
);
