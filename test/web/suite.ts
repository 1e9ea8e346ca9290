/** A test suite against one running gpulse and one Chromium; skipped, with the reason in its name, if Chromium is missing. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { openBrowser } from "./browser.ts";
import { type RunningUp, startUp } from "./up.ts";

export interface BrowserSuite {
  /** For tests only: both throw while the suite is being defined. */
  readonly up: RunningUp;
  readonly browser: Browser;
  /** Starts gpulse again at its address after a test has stopped it. */
  readonly restart: () => Promise<void>;
}

export interface BrowserSuiteOptions {
  /** Eight simulated GPUs by default. */
  readonly source?: string;
  /** Further command-line arguments. */
  readonly more?: readonly string[];
  readonly timeoutMs?: number;
}

export function describeInBrowser(
  name: string,
  { source, more, timeoutMs = 60_000 }: BrowserSuiteOptions,
  tests: (suite: BrowserSuite) => void,
): void {
  const chromium = findTool("chromium");
  const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
  const options = { timeout: timeoutMs };
  describe.skipIf("missing" in chromium)(`${name} in a real browser${skipped}`, options, () => {
    let up: RunningUp | undefined;
    let browser: Browser | undefined;
    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort(), source, more);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await up?.process.stop();
    });
    const running = (): RunningUp => {
      if (up === undefined) throw new Error("BUG: gpulse runs only while tests do");
      return up;
    };
    tests({
      restart: async () => {
        up = await startUp(Number(new URL(running().url).port), source, more);
      },
      get up() {
        return running();
      },
      get browser() {
        if (browser === undefined) throw new Error("BUG: Chromium runs only while tests do");
        return browser;
      },
    });
  });
}
