/**
 * Boards in a real browser: a chart is pinned, arranged by keyboard and pointer, saved, exported, imported, filtered by host, model and
 * job, shown in TV mode and in frames of other pages.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { program, repository } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { violationsOn } from "./accessible.ts";
import { openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import { describeInBrowser } from "./suite.ts";

const allowedPort = await freePort();
const folder = await mkdtemp(path.join(tmpdir(), "gpulse-boards-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
const scenario = path.join(folder, "mixed.yaml");
await writeFile(
  scenario,
  `says: Two GPUs of different models train.
fleet: [{ model: H200, count: 1 }, { model: RX7800XT, count: 1 }]
workloads: [{ gpus: all, run: training }]
`,
);

/** A file on disk with a board of the given panels and the variables of a new board. */
async function boardFile(title: string, panels: readonly object[]): Promise<string> {
  const variables = [
    { name: "host", label: "host", selector: "gpu_info" },
    { name: "model", label: "model", selector: "gpu_info" },
    { name: "job", label: "workload", selector: "gpu_owner_info" },
  ];
  const file = path.join(folder, `${title}.json`);
  const all = panels.map((panel, at) => ({ id: `p${at}`, columns: 6, rows: 3, ...panel }));
  await writeFile(
    file,
    JSON.stringify({ gpulse: "board", format: 1, title, variables, panels: all }),
  );
  return file;
}

async function importFile(page: Page, file: string): Promise<void> {
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByLabel("File").setInputFiles(file);
}

describeInBrowser(
  "boards",
  {
    source: `sim:?scenario=${scenario}`,
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
      const file = path.join(folder, download.suggestedFilename());
      await download.saveAs(file);
      expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({
        gpulse: "board",
        format: 1,
        panels: [
          { queries: [{ query: 'sum(gpu_power_watts{host=~"$host"})' }] },
          { title: "Heat" },
        ],
      });

      await page.getByRole("link", { name: "All boards" }).click();
      await importFile(page, file);
      await page.getByText("Wall: 2 panels, variables host").waitFor();
      await page.getByText("Everything was imported.").waitFor();
      await page.getByRole("button", { name: "Add “Wall”" }).click();
      await page.waitForURL(/board=wall-2$/);
      await expect.poll(() => page.evaluate(titles)).toEqual(["Total power", "Heat"]);
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
      await importFile(page, path.join(repository, "deploy/grafana/dashboards/gpu.json"));
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

    test("the host, model and job that are chosen are those that the panels show", async () => {
      const agent = startProcess(
        process.execPath,
        [program, "agent", "--source", "sim:1", "--host-name", "other-node", "--port", "0"].concat([
          "--push",
          suite.up.url,
          "--spool",
          path.join(folder, "spool"),
        ]),
        { name: "gpulse agent" },
      );
      try {
        await waitUntil({ what: "the other machine's GPU", timeoutMs: 60_000 }, async () => {
          const answer = await fetch(`${suite.up.url}api/fleet`);
          const { devices } = (await answer.json()) as { devices: { host: string }[] };
          return devices.some(({ host }) => host === "other-node") ? true : undefined;
        });
        const { page, complaints } = await openPage(
          suite.browser,
          `${suite.up.url}boards`,
          {},
          "main h2",
        );
        const filtered = 'gpu_info{host=~"$host",model=~"$model"}';
        const panels = [
          { title: "Cards", kind: "stat", queries: [{ query: `count(${filtered})` }] },
          {
            title: "Models",
            kind: "table",
            queries: [{ query: `count by (model) (${filtered})` }],
          },
          {
            title: "Jobs",
            kind: "stat",
            queries: [
              {
                query: 'gpu_owner_info{workload=~"$job",host=~"$host"}',
                legend: "{{workload}}",
              },
            ],
          },
        ];
        await importFile(page, await boardFile("Filtered", panels));
        await page.getByRole("button", { name: "Add “Filtered”" }).click();
        const select = (name: string) => page.getByRole("combobox", { name });
        const panel = (name: string) => page.getByRole("figure", { name });
        const cards = () => panel("Cards").locator("strong").innerText();
        const jobs = () => panel("Jobs").locator(".of").allInnerTexts();
        await expect.poll(cards).toBe("3");
        await select("host").selectOption("other-node");
        await expect.poll(cards).toBe("1");
        expect(page.url()).toContain("var-host=other-node");
        await select("host").selectOption("All");
        await select("model").selectOption("AMD Radeon RX 7800 XT");
        await expect.poll(cards).toBe("1");
        await expect.poll(() => panel("Models").innerText()).toContain("RX 7800 XT");
        expect(await panel("Models").innerText()).not.toContain("H200");
        await expect.poll(async () => (await jobs()).length).toBeGreaterThan(1);
        await select("job").selectOption("training-1");
        await expect.poll(jobs).toEqual(["training-1"]);
        expect(complaints).toEqual([]);
        await page.context().close();
      } finally {
        await agent.stop();
      }
    });

    test("a heatmap is drawn on a board and from Grafana, and a wall is filled and changed by the clock", async () => {
      const buckets = "sum by (le) (rate(ml_step_duration_seconds_bucket[$rate]))";
      const dashboard = path.join(folder, "grafana.json");
      const targets = [{ expr: buckets.replace("$rate", "$__rate_interval"), format: "heatmap" }];
      await writeFile(
        dashboard,
        JSON.stringify({
          title: "From Grafana",
          panels: [
            { type: "heatmap", title: "Steps", targets, gridPos: { w: 24, h: 24, x: 0, y: 0 } },
            { type: "geomap", title: "Map", targets: [], gridPos: { w: 24, h: 8, x: 0, y: 24 } },
          ],
        }),
      );
      const { page, complaints } = await openPage(
        suite.browser,
        `${suite.up.url}boards`,
        {},
        "main h2",
      );
      const heatmap = page.getByRole("img", { name: /^Steps: heatmap of \d+ buckets from / });
      const painted = () =>
        page.evaluate<boolean>(`(() => {
          const canvas = document.querySelector(".heat-area canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data.some((part) => part > 0);
        })()`);
      await importFile(page, dashboard);
      await page.getByText("“Map”: not imported.").waitFor();
      await page.getByRole("button", { name: "Add “From Grafana”" }).click();
      await heatmap.waitFor({ timeout: 60_000 });
      await page.getByRole("link", { name: "All boards" }).click();
      const panels = [
        { title: "Steps", kind: "heatmap", queries: [{ query: buckets }], columns: 12, rows: 8 },
        {
          title: "Power",
          kind: "timeseries",
          queries: [{ query: "gpu_power_watts" }],
          columns: 12,
          rows: 8,
        },
      ];
      await importFile(page, await boardFile("Drawn", panels));
      await page.getByRole("button", { name: "Add “Drawn”" }).click();
      await heatmap.waitFor();
      await page.goto(`${suite.up.url}boards?board=drawn&mode=tv&cycle=3`);
      await heatmap.waitFor();
      await expect.poll(painted).toBe(true);
      const filled = () =>
        page.evaluate<number[]>(`(() => {
          const panels = [...document.querySelectorAll(".tv-line .board-panel > *")];
          const bottom = Math.max(...panels.map((one) => one.getBoundingClientRect().bottom));
          return [bottom / innerHeight, document.documentElement.scrollHeight / innerHeight];
        })()`);
      const isFilled = async (): Promise<boolean> => {
        const [bottom = 0, whole = 0] = await filled();
        return bottom > 0.9 && bottom <= 1 && whole <= 1;
      };
      await expect.poll(isFilled).toBe(true);
      // Nobody touches it: the second screen comes by itself, and after it the first again.
      await page.getByRole("heading", { name: "Power" }).waitFor();
      await expect.poll(isFilled).toBe(true);
      await heatmap.waitFor();
      await page.getByRole("button", { name: "Full screen" }).click();
      await expect.poll(() => page.evaluate("document.fullscreenElement !== null")).toBe(true);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a comparison's two variables begin with different GPUs and stay chosen on a wall", async () => {
      const { page, complaints } = await openPage(
        suite.browser,
        `${suite.up.url}boards`,
        {},
        "main h2",
      );
      await importFile(page, path.join(repository, "deploy/grafana/dashboards/compare.json"));
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
