/** Boards in a real browser: a chart is pinned, arranged by keyboard and pointer, saved, exported, imported, shown on a wall. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild, repository } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { violationsOn } from "./accessible.ts";
import { openBrowser, openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

describe.skipIf("missing" in chromium)(
  `boards in a real browser${skipped}`,
  { timeout: 90_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    const titles = `[...document.querySelectorAll(".board-panel h3")].map((one) => one.textContent)`;

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort(), "sim:2", ["--embed-origins", "https://wiki.example"]);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    test("a chart is pinned, arranged by keyboard and pointer, saved and exported", async () => {
      const url = `${up.url}explore?expr=sum(gpu_power_watts)&range=5m`;
      const { page, complaints } = await openPage(browser, url, {}, ".chart canvas");
      await page.getByRole("button", { name: "Menu of sum(gpu_power_watts)" }).click();
      await page.getByRole("menuitem", { name: "Pin to board" }).click();
      const dialog = page.getByRole("dialog", { name: "Pin to a board" });
      await dialog.getByLabel("Its title").fill("Wall");
      await dialog.getByLabel("Title of the panel").fill("Power in all");
      await dialog.getByRole("button", { name: "Pin" }).click();
      await page.getByText("Power in all is pinned to Wall.").waitFor();

      await page.goto(`${up.url}boards?board=wall`);
      await page.getByRole("heading", { name: "Power in all" }).waitFor();
      await page.getByLabel("host").waitFor();
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("button", { name: "Add a panel" }).click();
      await page.getByLabel("Title", { exact: true }).last().fill("Heat");
      await page.getByLabel("Query 1 in PromQL").fill("max(gpu_temperature_celsius");
      await page.getByLabel("Kind").selectOption("stat");
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("alert").getByText('A query of panel "Heat" is wrong').waitFor();

      await page.getByRole("button", { name: "Edit Heat" }).click();
      await page.getByLabel("Query 1 in PromQL").fill("max(gpu_temperature_celsius)");
      await page.getByRole("button", { name: "Done" }).click();
      expect(await page.evaluate(titles)).toEqual(["Power in all", "Heat"]);
      await page.getByRole("button", { name: "Move Heat", exact: true }).press("ArrowLeft");
      expect(await page.evaluate(titles)).toEqual(["Heat", "Power in all"]);
      await page.getByRole("button", { name: "Move Heat", exact: true }).press("Shift+ArrowRight");
      await page.getByText("Heat is 7 of 12 columns wide").waitFor({ state: "attached" });
      await page.getByRole("button", { name: "Move Heat", exact: true }).press("Shift+ArrowLeft");
      const from = await page.getByRole("button", { name: "Move Heat", exact: true }).boundingBox();
      const to = await page.locator("[data-panel]").nth(1).boundingBox();
      if (from === null || to === null) throw new Error("BUG: a panel is not in view");
      await page.mouse.move(from.x + 5, from.y + 5);
      await page.mouse.down();
      await page.mouse.move(to.x + to.width / 2, to.y + 40, { steps: 5 });
      await page.mouse.up();
      expect(await page.evaluate(titles)).toEqual(["Power in all", "Heat"]);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Wall is saved as version 3.").waitFor();
      expect(await layoutFaults(page, "board")).toEqual([]);

      await page.getByRole("button", { name: "More about this board" }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: "Export JSON" }).click(),
      ]);
      const exported = JSON.parse(await readFile(await download.path(), "utf8")) as unknown;
      expect(exported).toMatchObject({
        gpulse: "board",
        format: 1,
        panels: [
          { queries: [{ query: 'sum(gpu_power_watts{host=~"$host"})' }] },
          { title: "Heat" },
        ],
      });
      expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
      await page.context().close();
    });

    test("a Grafana dashboard is imported with a list of what is left out, and cycles on a wall", async () => {
      const { page, complaints } = await openPage(browser, `${up.url}boards`, {}, "main h2");
      await page.getByRole("button", { name: "Import" }).click();
      const file = path.join(repository, "deploy/grafana/dashboards/gpu.json");
      await page.getByLabel("File").setInputFiles(file);
      await page.getByText('Panels of type "state-timeline" are not supported.').waitFor();
      await page.getByRole("button", { name: /^Add / }).click();
      await page.getByRole("heading", { name: "GPU utilisation" }).first().waitFor();
      await page.getByRole("link", { name: "TV mode" }).click();
      await page.getByText(/^1 of \d+$/).waitFor();
      expect(await page.locator("header.top").isVisible()).toBe(false);
      await page.keyboard.press("ArrowRight");
      await page.getByText(/^2 of \d+$/).waitFor();
      expect(await violationsOn(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Edit" }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("only boards may be framed, and only by origins on the list", async () => {
      const policy = async (name: string): Promise<string> =>
        (await fetch(`${up.url}${name}`)).headers.get("content-security-policy") ?? "";
      expect(await policy("boards")).toContain("frame-ancestors 'self' https://wiki.example");
      expect((await fetch(`${up.url}boards`)).headers.get("x-frame-options")).toBeNull();
      expect(await policy("fleet")).toContain("frame-ancestors 'none'");
      expect((await fetch(`${up.url}fleet`)).headers.get("x-frame-options")).toBe("DENY");
    });
  },
);
