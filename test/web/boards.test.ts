/** Boards in a real browser: a chart is pinned, arranged by keyboard and pointer, saved, exported, imported, shown in TV mode. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { repository } from "../../engines/program.ts";
import { violationsOn } from "./accessible.ts";
import { openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import { describeInBrowser } from "./suite.ts";

const allowedPort = await freePort();

describeInBrowser(
  "boards",
  {
    source: "sim:2",
    more: ["--embed-origins", `https://wiki.example,http://127.0.0.1:${allowedPort}`],
    timeoutMs: 90_000,
  },
  (suite) => {
    const titles = `[...document.querySelectorAll(".board-panel h3")].map((one) => one.textContent)`;

    const narrowestPanel = `Math.min(...[...document.querySelectorAll(".tv-line > .board-panel")].map((one) => one.clientWidth))`;

    test("a chart is pinned, arranged by keyboard and pointer, saved and exported", async () => {
      const url = `${suite.up.url}explore?expr=sum(gpu_power_watts)&range=5m`;
      const { page, complaints } = await openPage(suite.browser, url, {}, ".chart canvas");
      await page.getByRole("button", { name: "Menu of sum(gpu_power_watts)" }).click();
      await page.getByRole("menuitem", { name: "Pin to board" }).click();
      const dialog = page.getByRole("dialog", { name: "Pin to a board" });
      await dialog.getByLabel("Its title").fill("Wall");
      await dialog.getByLabel("Title of the panel").fill("Total power");
      await dialog.getByRole("button", { name: "Pin" }).click();
      await page.getByText("Total power is pinned to Wall.").waitFor();

      await page.goto(`${suite.up.url}boards?board=wall`);
      await page.getByRole("heading", { name: "Total power" }).waitFor();
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
      await expect.poll(() => page.evaluate(titles)).toEqual(["Total power", "Heat"]);
      await page.getByRole("button", { name: "Move Heat", exact: true }).press("ArrowLeft");
      await expect.poll(() => page.evaluate(titles)).toEqual(["Heat", "Total power"]);
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
      await expect.poll(() => page.evaluate(titles)).toEqual(["Total power", "Heat"]);
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
      const { page, complaints } = await openPage(
        suite.browser,
        `${suite.up.url}boards`,
        {},
        "main h2",
      );
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
      await page.setViewportSize({ width: 390, height: 844 });
      await expect.poll(() => page.evaluate<number>(narrowestPanel)).toBeGreaterThan(100);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Edit" }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("only boards may be framed, and only by origins on the list", async () => {
      const policy = async (name: string): Promise<string> =>
        (await fetch(`${suite.up.url}${name}`)).headers.get("content-security-policy") ?? "";
      expect(await policy("boards")).toContain("frame-ancestors 'self' https://wiki.example");
      expect((await fetch(`${suite.up.url}boards`)).headers.get("x-frame-options")).toBeNull();
      expect(await policy("fleet")).toContain("frame-ancestors 'none'");
      expect((await fetch(`${suite.up.url}fleet`)).headers.get("x-frame-options")).toBe("DENY");
    });

    test("the browser shows a board in a frame of an allowed page, and refuses it elsewhere", async () => {
      const framedBy = async (port: number): Promise<boolean> => {
        const board = `${suite.up.url}boards?board=wall&mode=embed`;
        const server = createServer((_, response) => {
          response.setHeader("content-type", "text/html").end(`<iframe src="${board}"></iframe>`);
        });
        await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
        try {
          const page = await suite.browser.newPage();
          await page.goto(`http://127.0.0.1:${port}/`, { waitUntil: "load" });
          const heading = page.frameLocator("iframe").getByRole("heading", { name: "Total power" });
          const isShown = await heading.waitFor({ timeout: 15_000 }).then(
            () => true,
            () => false,
          );
          await page.close();
          return isShown;
        } finally {
          server.closeAllConnections();
          server.close();
        }
      };
      expect(await framedBy(allowedPort)).toBe(true);
      expect(await framedBy(await freePort())).toBe(false);
    });

    test("a comparison's two variables begin with different GPUs and stay chosen on a wall", async () => {
      const { page, complaints } = await openPage(
        suite.browser,
        `${suite.up.url}boards`,
        {},
        "main h2",
      );
      await page.getByRole("button", { name: "Import" }).click();
      const file = path.join(repository, "deploy/grafana/dashboards/compare.json");
      await page.getByLabel("File").setInputFiles(file);
      await page.getByRole("button", { name: /^Add / }).click();
      const selects = page.locator(".variables select");
      const chosen = () => Promise.all([0, 1].map((at) => selects.nth(at).inputValue()));
      await expect.poll(async () => new Set(await chosen()).size).toBe(2);
      const uuids = await chosen();
      expect(uuids).not.toContain("");
      await expect
        .poll(() => selects.first().locator("option:checked").innerText())
        .toMatch(/#\d on /);
      await page.getByRole("link", { name: "TV mode" }).click();
      await page.locator(".tv-line").first().waitFor();
      expect(await chosen()).toEqual(uuids);
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  },
);
