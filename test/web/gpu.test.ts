import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { violationsOn } from "./accessible.ts";
import { layoutFaults } from "./layouts.ts";
import { openBrowser, openPage } from "./browser.ts";
import { drawnDashes, drawnTexts, recordDrawing } from "./drawn.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const plots = ".chart .u-over";

interface ApiAnswer {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value?: readonly [number, string];
      readonly values?: readonly (readonly [number, string])[];
    }[];
  };
}

describe.skipIf("missing" in chromium)(
  `the page of a GPU in a real browser${skipped}`,
  { timeout: 90_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let startedMs = 0;

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort());
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      startedMs = Math.ceil(Date.now() / 1_000) * 1_000;
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    const iso = (ms: number) => new Date(ms).toISOString().replace(".000Z", "Z");
    /** A fixed range with readings everywhere in it. */
    const past = async (): Promise<string> => {
      const fromMs = startedMs + 3_000;
      await setTimeout(Math.max(0, fromMs + 25_000 - Date.now()));
      return `from=${iso(fromMs)}&to=${iso(fromMs + 20_000)}`;
    };
    const open = (address: string, options: Parameters<typeof openPage>[2] = {}, ready = plots) =>
      openPage(browser, up.url + address, options, ready);
    const devices = async (page: Page): Promise<readonly { uuid: string; host: string }[]> => {
      const answer = await page.request.get(`${up.url}api/fleet`);
      const body = (await answer.json()) as { devices: { uuid: string; host: string }[] };
      return body.devices;
    };
    const uuids = async (page: Page): Promise<string[]> =>
      (await devices(page)).map(({ uuid }) => uuid);
    const ask = async (page: Page, path: string, params: Record<string, string>) => {
      const answer = await page.request.get(
        `${up.url}api/v1/${path}?${new URLSearchParams(params).toString()}`,
      );
      return ((await answer.json()) as ApiAnswer).data.result;
    };
    const cell = (page: Page, reading: string, column: number) =>
      page.locator(`tr[data-reading="${reading}"] > *`).nth(column).innerText();
    const between = (page: Page): [string, string] => {
      const params = new URL(page.url()).searchParams;
      return [params.get("from") ?? "", params.get("to") ?? ""];
    };

    test("a first visit draws charts, says how the GPU is, and nothing complains or calls out", async () => {
      const { page, complaints, strangers } = await open("gpu?range=5m");
      await expect
        .poll(() =>
          page.evaluate<boolean>(
            `(() => {
              const plot = document.querySelector(".chart canvas");
              const { data } = plot.getContext("2d").getImageData(0, 0, plot.width, plot.height);
              return data.some((part) => part !== 0);
            })()`,
          ),
        )
        .toBe(true);
      expect(await page.locator("main h2").innerText()).toBe("NVIDIA H200 #0");
      await expect
        .poll(() => page.locator(".health .banner strong").first().innerText())
        .not.toBe("");
      expect(await page.title()).toContain("NVIDIA H200 #0");
      expect(complaints).toEqual([]);
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("every reading has its unit, age and source; what the device does not tell is n/a with the reason", async () => {
      const { page } = await open("gpu?range=5m");
      await expect.poll(() => cell(page, "power", 1)).toMatch(/^[\d\u202f]+ W$/);
      await expect.poll(() => cell(page, "power", 6)).toMatch(/^\d+\ss · sim$/);
      await expect.poll(() => cell(page, "memory", 5)).toMatch(/^\d+\.\d GiB$/);
      expect(await cell(page, "fan", 1)).toBe("n/a");
      const reason = page.locator('tr[data-reading="fan"] .absent').first();
      // The table is below the charts: scrolling to it closes tooltips, including one that has just opened.
      await expect
        .poll(async () => {
          await page.mouse.move(0, 0);
          await reason.hover();
          return page.locator(".tip").allInnerTexts();
        })
        .toEqual(["This GPU or its driver does not report it."]);
      expect(await page.locator(".not-reported").innerText()).toContain("Fans");
      const titles = await page.locator(".chart h3").allInnerTexts();
      expect(titles).toContain("Temperatures");
      expect(titles).not.toContain("Fans");
      await page.context().close();
    });

    test("least, mean and most are those of the hub's own answer", async () => {
      const { page } = await open(`gpu?${await past()}`);
      const [uuid = ""] = await uuids(page);
      const [, to] = between(page);
      for (const [column, name] of [
        [3, "min"],
        [4, "avg"],
        [5, "max"],
      ] as const) {
        const [found] = await ask(page, "query", {
          query: `${name}_over_time(gpu_power_watts{uuid="${uuid}"}[20s])`,
          time: to,
        });
        const watts = Number(found?.value?.[1]).toFixed(0);
        await expect.poll(() => cell(page, "power", column)).toBe(`${watts} W`);
      }
      await page.context().close();
    });

    /** Newest, min, max and avg of the power chart's legend and of the readings table, read in one step. */
    const powerFigures = (page: Page) =>
      page.evaluate<{ head: string[]; legend: string[]; table: string[] }>(
        `(() => {
          const texts = (cells) => [...cells].map((cell) => cell.innerText.replace(/\\s/g, ""));
          const chart = [...document.querySelectorAll(".chart")]
            .find((one) => one.querySelector("h3").innerText === "Power");
          const row = [...chart.querySelectorAll(".chart-legend tbody tr")]
            .find((one) => one.querySelector("th button").innerText.trim() === "board");
          const [, newest, , min, avg, max] =
            texts(document.querySelector('tr[data-reading="power"]').children);
          return {
            head: [
              texts(chart.querySelectorAll(".chart-legend thead th"))[1],
              texts(document.querySelectorAll(".readings thead th"))[1],
            ],
            legend: texts(row.querySelectorAll("td")),
            table: [newest, min, max, avg],
          };
        })()`,
      );
    const complete = async (page: Page) => {
      const { legend, table } = await powerFigures(page);
      return [...legend, ...table].every((text) => /^[\d.]+W$/.test(text));
    };

    /** Legends have one more digit than the table. */
    const differences = (legend: readonly string[], table: readonly string[]) =>
      legend.filter((text, at) => Math.abs(parseFloat(text) - parseFloat(table[at] ?? "")) > 0.51);

    test("legend and table show the same newest value, min, max and avg", async () => {
      const { page } = await open("gpu?range=5m");
      await expect.poll(() => complete(page)).toBe(true);
      for (let round = 0; round < 3; round += 1) {
        const { head, legend, table } = await powerFigures(page);
        expect(head).toEqual(["now", "Now"]);
        expect(differences(legend, table)).toEqual([]);
        await setTimeout(1_100);
      }
      await page.context().close();
    });

    test("a range that is over shows its last value, not the present", async () => {
      const { page } = await open(`gpu?${await past()}`);
      await expect.poll(() => complete(page)).toBe(true);
      const { head, legend, table } = await powerFigures(page);
      const [uuid = ""] = await uuids(page);
      const [, to] = between(page);
      const [found] = await ask(page, "query", {
        query: `last_over_time(gpu_power_watts{uuid="${uuid}"}[20s])`,
        time: to,
      });
      expect(head).toEqual(["last", "Last"]);
      expect(differences(legend, table)).toEqual([]);
      expect(table[0]).toBe(`${Number(found?.value?.[1]).toFixed(0)}W`);
      await page.context().close();
    });

    test("a chart's CSV has the numbers of the hub's own answer, every one", async () => {
      const { page } = await open(`gpu?${await past()}`);
      const [uuid = ""] = await uuids(page);
      const chart = page.locator(".chart", {
        has: page.getByRole("heading", { name: "Temperatures" }),
      });
      await chart.locator(plots.replace(".chart ", "")).waitFor();
      await chart.getByRole("button", { name: "Menu of Temperatures" }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: "CSV table" }).click(),
      ]);
      const lines = (await readFile(await download.path(), "utf8")).trim().split("\n");
      const rows = lines.filter((line) => !line.startsWith("#")).map((line) => line.split(","));
      const [head = [], ...body] = rows;
      const [start, end] = between(page);
      const series = await ask(page, "query_range", {
        query: `gpu_temperature_celsius{uuid="${uuid}"}`,
        start,
        end,
        step: "1",
      });
      expect(body.length).toBe(21);
      expect(series.length).toBe(2);
      for (const { metric, values = [] } of series) {
        const column = head.indexOf(metric["sensor"] ?? "");
        const reported = body.map((row) => [Date.parse(row[0] ?? "") / 1_000, row[column] ?? ""]);
        expect(reported.filter(([, text]) => text !== "")).toEqual(values);
      }
      await page.context().close();
    });

    test("a chart's menu opens its lines in Explore and copies a link that keeps showing this time", async () => {
      const { page } = await open("gpu?range=5m", {
        permissions: ["clipboard-read", "clipboard-write"],
      });
      const chart = page.locator(".chart", { has: page.getByRole("heading", { name: "Power" }) });
      await expect.poll(() => chart.locator(".chart-legend tbody tr").count()).toBe(2);
      const choose = async (entry: string) => {
        await chart.getByRole("button", { name: "Menu of Power" }).click();
        await page.getByRole("menuitem", { name: entry }).click();
      };
      await choose("Copy link with this time");
      const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
      await expect.poll(copied).toMatch(/\/gpu\?.*from=.*&to=/);
      expect(await copied()).not.toContain("range=");
      await choose("Open in Explore");
      await expect.poll(() => new URL(page.url()).pathname).toBe("/explore");
      expect(new URL(page.url()).searchParams.get("expr")).toMatch(
        /^\{__name__=~"gpu_power_watts\|gpu_power_limit_watts",/,
      );
      expect(between(page)).not.toContain("");
      await expect.poll(() => page.locator(".chart-legend tbody tr").count()).toBe(2);
      await page.context().close();
    });

    test("a chart is enlarged, drawn on a logarithmic scale, and shows one line alone", async () => {
      const { page, complaints } = await open("gpu?range=5m");
      await page.waitForSelector(".readings");
      const order = await page.evaluate<number>(
        `document.querySelector(".chart-grid").compareDocumentPosition(document.querySelector(".readings"))`,
      );
      expect(order & 4, "charts stand before the table").toBe(4);
      const chart = page.locator(".chart", { has: page.getByRole("heading", { name: "Clocks" }) });
      const plot = chart.locator(".plot-host");
      await expect.poll(() => chart.locator(".chart-legend tbody tr").count()).toBe(4);
      const small = await plot.boundingBox();
      await chart.getByRole("button", { name: "Enlarge Clocks" }).click();
      await expect
        .poll(async () => (await plot.boundingBox())?.height ?? 0)
        .toBeGreaterThan(2 * (small?.height ?? 0));
      expect(new URL(page.url()).searchParams.get("chart")).toBe("Clocks");
      // The names of the lines are drawn at them; graphics and SM clock are one line, whose second name may find no place.
      const names = async () => {
        const texts = await drawnTexts(page);
        return texts.flatMap(({ chart: title, text }) => (title === "Clocks" ? [text] : []));
      };
      await recordDrawing(page);
      await expect.poll(names).toEqual(expect.arrayContaining(["graphics", "memory", "video"]));
      expect((await drawnDashes(page, "Clocks")).length).toBeGreaterThanOrEqual(4);
      const pixels = () =>
        page.evaluate<string>(`document.querySelector(".chart[data-enlarged] canvas").toDataURL()`);
      const linear = await pixels();
      await chart.getByRole("button", { name: "Menu of Clocks" }).click();
      await page.getByRole("menuitem", { name: "Logarithmic scale" }).click();
      await expect.poll(pixels).not.toBe(linear);
      expect(await violationsOn(page)).toEqual([]);
      await chart.locator(".chart-legend tbody tr").nth(1).hover();
      await chart.getByRole("button", { name: "Show only memory" }).click();
      await expect.poll(() => chart.locator("tr[data-off]").count()).toBe(3);
      // A line alone needs no name.
      await recordDrawing(page);
      await expect.poll(names).toContainEqual(expect.stringMatching(/[MG]Hz/));
      expect(await names()).not.toContain("memory");
      await chart.getByRole("button", { name: "Show all lines" }).click();
      await expect.poll(() => chart.locator("tr[data-off]").count()).toBe(0);
      await page.keyboard.press("Escape");
      await expect.poll(() => page.url()).not.toContain("chart=");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("on a phone a touch reads values inside the screen, a held finger drags a range, and a pinch zooms", async () => {
      const { page } = await open("gpu?range=5m", {
        viewport: { width: 390, height: 844 },
        hasTouch: true,
      });
      const fiveMinutes = page.url();
      const over = page.locator(plots).first();
      await page.waitForSelector(".chart-legend td");
      const session = await page.context().newCDPSession(page);
      const touch = async (
        type: "touchStart" | "touchMove" | "touchEnd",
        ...shares: readonly number[]
      ) => {
        // What stands above the chart changes with the range.
        if (type === "touchStart") await over.scrollIntoViewIfNeeded();
        const box = await over.boundingBox();
        if (box === null) throw new Error("the chart has no box");
        const y = box.y + box.height / 2;
        await session.send("Input.dispatchTouchEvent", {
          type,
          touchPoints: shares.map((share, id) => ({ x: box.x + box.width * share, y, id })),
        });
      };
      for (const share of [0.97, 0.8]) {
        await touch("touchStart", share);
        const tip = page.locator(".plot-tip").first();
        await tip.waitFor();
        const shown = await tip.boundingBox();
        expect(shown?.x ?? -1).toBeGreaterThanOrEqual(0);
        expect((shown?.x ?? 0) + (shown?.width ?? 390)).toBeLessThanOrEqual(390);
        await touch("touchEnd");
      }
      // Held before it moves, a finger drags a range.
      await touch("touchStart", 0.3);
      await setTimeout(400);
      await touch("touchMove", 0.4);
      await touch("touchMove", 0.7);
      await touch("touchEnd");
      await expect.poll(() => between(page)[0]).not.toBe("");
      const dragged = between(page);
      const seconds = (Date.parse(dragged[1]) - Date.parse(dragged[0])) / 1_000;
      expect(Math.abs(seconds - 0.4 * 300)).toBeLessThan(10);
      // The dragged range may lie before the first sample; then there is no chart to pinch.
      await page.goto(fiveMinutes);
      await page.waitForSelector(".chart-legend td");
      await touch("touchStart", 0.6, 0.7);
      await touch("touchMove", 0.5, 0.8);
      await touch("touchMove", 0.4, 0.9);
      await touch("touchEnd");
      await expect.poll(() => between(page)[0]).not.toBe("");
      const [from, to] = between(page).map((text) => Date.parse(text));
      expect((to ?? 0) - (from ?? 0)).toBeLessThan(100_000);
      await page.context().close();
    });

    test("event marks stand at their time, and the type of charts grows with a wall display", async () => {
      const { page } = await open("gpu?range=15m");
      const chart = page.locator(".chart", { has: page.getByRole("heading", { name: "Power" }) });
      // The GPU was found when gpulse started.
      await chart.locator(".marks li").first().waitFor();
      for (const [width, sizePx] of [
        [1_280, 11],
        [2_560, 14],
      ] as const) {
        await page.setViewportSize({ width, height: 1_080 });
        await expect
          .poll(async () => {
            await recordDrawing(page);
            await expect.poll(async () => (await drawnTexts(page)).length).toBeGreaterThan(20);
            return [...new Set((await drawnTexts(page)).map((one) => one.sizePx))];
          })
          .toEqual([sizePx]);
        const [marks, over] = await Promise.all([
          chart.locator(".marks").boundingBox(),
          chart.locator(".u-over").boundingBox(),
        ]);
        expect(Math.abs((marks?.x ?? 0) - (over?.x ?? -9))).toBeLessThanOrEqual(1);
        expect(Math.abs((marks?.width ?? 0) - (over?.width ?? -9))).toBeLessThanOrEqual(1);
      }
      await page.context().close();
    });

    test("a chart's picture names the chart, the GPU, the time and every line", async () => {
      const { page } = await open("gpu?range=5m");
      const chart = page.locator(".chart", { has: page.getByRole("heading", { name: "Power" }) });
      await expect.poll(() => chart.locator(".chart-legend tbody tr").count()).toBe(2);
      await recordDrawing(page);
      const download = page.waitForEvent("download");
      await chart.getByRole("button", { name: "Menu of Power" }).click();
      await page.getByRole("menuitem", { name: "PNG picture" }).click();
      const file = await download;
      expect(file.suggestedFilename()).toMatch(/^gpulse-power-nvidia-h200-0-on-.*\.png$/);
      expect((await readFile(await file.path())).subarray(1, 4).toString()).toBe("PNG");
      const texts = (await drawnTexts(page)).filter((one) => one.chart === "");
      const [{ host } = { host: "" }] = await devices(page);
      expect(texts[0]?.text).toBe(`Power: NVIDIA H200 #0 on ${host}`);
      expect(texts[1]?.text).toMatch(/^\d{4}-\d\d-\d\d .* – \d{4}-/);
      expect(texts.slice(2).map(({ text }) => text)).toEqual([
        expect.stringMatching(/^board {3}min .* max .* avg /),
        expect.stringMatching(/^limit {3}min .* max .* avg /),
      ]);
      await page.context().close();
    });

    test("the dictionary explains an Xid by its number, memory errors and throttle reasons by their words", async () => {
      const { page } = await open("gpu?range=5m");
      await page.getByText("Dictionary of Xid errors").click();
      await page.getByLabel("Search the dictionary").fill("79");
      const terms = () => page.locator(".dictionary dt").allInnerTexts();
      await expect.poll(terms).toEqual(["Xid 79"]);
      for (const [word, term] of [
        ["uncorrect", /ECC|uncorrect/i],
        ["power brake", /power brake/i],
      ] as const) {
        await page.getByLabel("Search the dictionary").fill(word);
        await expect.poll(terms).toContainEqual(expect.stringMatching(term));
        expect((await page.locator(".dictionary dd").first().innerText()).length).toBeGreaterThan(
          20,
        );
      }
      await page.getByLabel("Search the dictionary").fill("");
      expect(await layoutFaults(page, "gpu-dictionary")).toEqual([]);
      await page.context().close();
    });

    test("dragging over one chart changes the range, the address, every chart and the figures; a reload keeps it", async () => {
      const { page } = await open("gpu?range=5m");
      const box = await page.locator(plots).first().boundingBox();
      if (box === null) throw new Error("the chart has no box");
      const y = box.y + box.height / 2;
      await page.mouse.move(box.x + box.width * 0.4, y);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, y, { steps: 5 });
      await page.mouse.move(box.x + box.width * 0.95, y, { steps: 5 });
      await page.mouse.up();
      await expect.poll(() => between(page)[0]).not.toBe("");
      const range = await page.locator(".time .range .long").innerText();
      const summaries = () => page.locator(".chart > p.unseen:not([role])").allInnerTexts();
      await expect
        .poll(async () => (await summaries()).filter((text) => !text.includes(range)))
        .toEqual([]);
      await expect.poll(() => page.locator("#gpu-now").innerText()).toContain(range);
      await page.reload();
      await page.waitForSelector(plots);
      expect(await page.locator(".time .range .long").innerText()).toBe(range);
      expect(await page.locator("#gpu-now").innerText()).toContain(range);
      await page.context().close();
    });

    test("the neighbours are a key away, and comparing takes this GPU along", async () => {
      const { page } = await open("gpu");
      const [first = "", second = ""] = (await devices(page)).map(
        ({ uuid, host }) => `${uuid}@${host}`,
      );
      const title = () => page.locator("main h2").innerText();
      await page.getByRole("link", { name: /^Next GPU/ }).click();
      await expect.poll(title).toBe("NVIDIA H200 #1");
      expect(new URL(page.url()).searchParams.get("uuid")).toBe(second);
      await page.keyboard.press("k");
      await expect.poll(title).toBe("NVIDIA H200 #0");
      await page.locator(".gpu-actions select").selectOption({ index: 5 });
      await expect.poll(title).toBe("NVIDIA H200 #5");
      await page.goBack();
      await expect.poll(title).toBe("NVIDIA H200 #0");
      await page.locator(".gpu-actions").getByRole("link", { name: "Compare" }).click();
      await expect.poll(() => new URL(page.url()).pathname).toBe("/compare");
      expect(new URL(page.url()).searchParams.get("gpus")).toBe(`${first},${second}`);
      await page.context().close();
    });

    test("jobs of the range are listed, and identity and limits reported", async () => {
      const { page } = await open("gpu?range=5m");
      await expect
        .poll(() => page.locator(".gpu-work tbody tr").first().innerText(), { timeout: 30_000 })
        .toMatch(/(?:training|inference|batch)-\d+/);
      for (const text of ["SIM-", "580.159.04", "generation 5 × 16", "Slows down at", "89\u00a0°C"])
        await expect.poll(() => page.locator(".gpu-identity").innerText()).toContain(text);
      await page.context().close();
    });

    test("a GPU nobody knows is distinguished from one that is only late", async () => {
      const { page } = await open("gpu?uuid=GPU-none", {}, ".empty");
      expect(await page.locator(".empty").innerText()).toContain("No GPU GPU-none was seen");
      await page.context().close();
    });

    test("nothing overflows and axe finds nothing, at every width in both themes", async () => {
      const { page } = await open("gpu?range=5m");
      await page.waitForSelector(".gpu-identity dd");
      expect(await layoutFaults(page)).toEqual([]);
      await page.context().close();
    });
  },
);
