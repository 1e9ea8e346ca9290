import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild, type RunningAgent, runGpulse, startAgent } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { layoutFaults } from "./layouts.ts";
import { openBrowser, openPage } from "./browser.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

/** Six GPUs of its own, one of which dies, and two of a machine that is only scraped. */
const scenario = `
fleet:
  - { model: H200, count: 3 }
  - { model: RX7800XT, count: 3 }
workloads:
  - { gpus: all, run: training }
faults:
  - { fault: gpu-lost, gpu: 2, at: 20s, for: 24h }
`;

/** Two GPUs of one NUMA node, joined by NVLink; one link of the second is down, and the first has two MIG instances. */
function linkedHost(seconds: number): string {
  const info = (uuid: string, gpu: number, more: string): string =>
    `gpu_info{host="linked",uuid="${uuid}",gpu="${gpu}",vendor="nvidia",${more}} 1 ${seconds}`;
  const of = (uuid: string, gpu: number, more: string): string =>
    `{host="linked",uuid="${uuid}",gpu="${gpu}",${more}}`;
  const links = [
    [of("LINK-A", 0, 'link="0"'), 1],
    [of("LINK-A", 0, 'link="1"'), 1],
    [of("LINK-B", 1, 'link="0"'), 1],
    [of("LINK-B", 1, 'link="1"'), 0],
  ] as const;
  return [
    "# TYPE gpu_info gauge",
    info("LINK-A", 0, 'model="H200",numa_node="0"'),
    info("LINK-B", 1, 'model="H200",numa_node="0"'),
    info("MIG-1", 0, 'model="H200 MIG 1g.18gb",parent="LINK-A"'),
    info("MIG-2", 0, 'model="H200 MIG 3g.71gb",parent="LINK-A"'),
    "# TYPE gpu_p2p_accessible gauge",
    `gpu_p2p_accessible${of("LINK-A", 0, 'peer="LINK-B"')} 1 ${seconds}`,
    `gpu_p2p_accessible${of("LINK-B", 1, 'peer="LINK-A"')} 1 ${seconds}`,
    "# TYPE gpu_interconnect_up gauge",
    ...links.map(([labels, isUp]) => `gpu_interconnect_up${labels} ${isUp} ${seconds}`),
    "# TYPE gpu_interconnect_bandwidth_bytes_per_second gauge",
    ...links.map(
      ([labels]) => `gpu_interconnect_bandwidth_bytes_per_second${labels} 26562000000 ${seconds}`,
    ),
    "# EOF\n",
  ].join("\n");
}

describe.skipIf("missing" in chromium)(
  `a fleet of several kinds in a real browser${skipped}`,
  { timeout: 120_000 },
  () => {
    let agent: RunningAgent;
    let up: RunningUp;
    let browser: Browser;

    beforeAll(async () => {
      await ensureBuild();
      const folder = await mkdtemp(path.join(tmpdir(), "gpulse-fleet-"));
      agent = await startAgent(
        "--source sim:2?seed=77 --host-name scraped --machine-label room=2".split(" "),
      );
      const [file, scrape] = [path.join(folder, "lose.yaml"), path.join(folder, "prometheus.yml")];
      await writeFile(file, scenario);
      await writeFile(
        scrape,
        `global: { scrape_interval: 1s }\nscrape_configs:\n  - job_name: other\n    honor_labels: true\n    static_configs:\n      - targets: ["127.0.0.1:${agent.port}"]\n        labels: { rack: b7 }\n`,
      );
      up = await startUp(await freePort(), `sim:6?scenario=${file}`, [
        "--prometheus-config",
        scrape,
        ..."--source host: --host-name own --machine-label room=1".split(" "),
      ]);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
      await agent.stop();
    });

    const open = (query = "", options: Parameters<typeof openPage>[2] = {}) =>
      openPage(browser, up.url + query, options);
    const names = (page: Page) => page.locator("tbody tr[data-uuid] .name").allInnerTexts();
    const count = (page: Page) => page.locator("tbody tr[data-uuid]").count();

    test("GPUs that are only scraped are shown like those of an agent", async () => {
      const { page, complaints } = await open();
      await expect.poll(() => count(page), { timeout: 60_000 }).toBe(8);
      const row = page.locator("tbody tr[data-uuid]", { hasText: "scraped" }).first();
      await expect.poll(() => row.locator("td.c-age").innerText()).toMatch(/^\d+\ss$/);
      await expect.poll(() => row.locator("td.c-power").innerText()).toMatch(/\d+.*W$/);
      await row.click();
      await expect
        .poll(() => page.locator(".inspector dl").innerText())
        .toContain("exporter:gpulse");
      await page.getByRole("link", { name: "All about this GPU" }).last().click();
      await page.waitForSelector(".chart .u-over");
      expect(await page.locator(".gpu-head").innerText()).toContain("scraped");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a GPU that dies turns to lost, first of all that is said, and never to zeros", async () => {
      const { page } = await open("?range=5m");
      const row = page.locator('tr[data-state="lost"]');
      await expect.poll(() => row.count(), { timeout: 60_000 }).toBe(1);
      for (const column of ["utilization", "memory", "power", "temperature"])
        expect(await row.locator(`td.c-${column}`).innerText()).toContain("n/a");
      await expect.poll(() => page.locator('.cell[data-kind="lost"]').count()).toBe(1);
      await expect
        .poll(() => page.locator(".attention .banner").first().innerText())
        .toMatch(/^lost\s+NVIDIA H200 #2|^lost\s+\S+ #2/);
      expect(await page.locator(".totals .figure").first().innerText()).toContain("1 lost");

      await page.locator(".attention a").first().click();
      await page.waitForSelector(".chart .u-over");
      expect(await page.locator(".gpu-head [data-state]").innerText()).toBe("lost");
      await expect
        .poll(() => page.locator(".health .banner").first().innerText(), { timeout: 10_000 })
        .toMatch(/^GPU lost since \d\d:\d\d .*Of its \d+ peers here, .* Next: /s);
      const now = await page.locator(".readings td.now").allInnerTexts();
      expect(new Set(now.map((text) => text.trim()))).toEqual(new Set(["n/a"]));
      await expect
        .poll(() => page.locator('.lane[aria-label^="lost"]').getAttribute("aria-label"), {
          timeout: 30_000,
        })
        .toMatch(/% of the time/);
      const power = page.locator(".chart", {
        has: page.getByRole("heading", { name: "Power", exact: true }),
      });
      await expect
        .poll(() => power.locator("tbody tr").first().innerText(), { timeout: 30_000 })
        .toMatch(/n\/a/);
      await page.context().close();
    });

    test("groups by any label, fold and are in the address", async () => {
      const { page } = await open("?by=model");
      const heads = page.locator("tr.group button");
      await expect
        .poll(() => heads.allInnerTexts())
        .toEqual(["AMD Radeon RX 7800 XT", "NVIDIA H200"]);
      await heads.first().click();
      await expect
        .poll(async () => (await names(page)).every((name) => name.includes("H200")))
        .toBe(true);
      await page.getByLabel("Group by").selectOption("rack");
      await expect
        .poll(() => heads.allInnerTexts(), { timeout: 30_000 })
        .toEqual(["b7", "no rack"]);
      await page.reload();
      await expect
        .poll(() => heads.allInnerTexts(), { timeout: 30_000 })
        .toEqual(["b7", "no rack"]);
      expect(await page.locator(".heat-group").count()).toBe(2);
      await page.locator("#filter").fill("rack=b7");
      await expect.poll(() => count(page)).toBe(2);
      await expect.poll(() => page.getByRole("link", { name: "Compare these" }).count()).toBe(1);
      await page.context().close();
    });

    test("machines stand in their rooms, with totals, and lead to the page of a host", async () => {
      const { page } = await open("?by=room");
      const heads = page.locator(".heat-group p");
      await expect.poll(() => heads.count(), { timeout: 30_000 }).toBe(2);
      await expect.poll(() => heads.last().innerText()).toMatch(/^2\s+2 GPUs · [\d\s.]+k?W$/);
      expect(await page.locator("tr.group").last().innerText()).toMatch(
        /2 GPUs · \d active · .*\sk?W/,
      );
      await page.locator("a.host-link", { hasText: "scraped" }).first().click();
      await page.waitForSelector(".host-gpus tbody tr");
      expect(new URL(page.url()).searchParams.get("host")).toBe("scraped");
      await page.context().close();
    });

    test("a host that only an exporter reports has its GPUs, and says what is missing instead of zeros", async () => {
      const { page, complaints } = await openPage(
        browser,
        `${up.url}host?host=scraped&range=5m`,
        {},
        ".topology-picture a",
      );
      expect(await page.locator(".host-gpus tbody tr").count()).toBe(2);
      expect(await page.locator("main").innerText()).toContain("No source reports the CPU, memory");
      await expect
        .poll(() => page.locator(".host-facts").innerText())
        .toMatch(/room\s+2.*not described/s);
      const titles = await page
        .locator(".host-charts .chart h2, .host-charts .chart h3")
        .allInnerTexts();
      expect(titles.every((title) => title.startsWith("GPU "))).toBe(true);
      expect(await page.locator(".topology-picture a").count()).toBe(2);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a host has its machine, kernel lines at the cursor of the charts, and its topology", async () => {
      const line = "NVRM: Xid (PCI:0000:18:00): 31, pid=4242, name=python";
      const posted = await fetch(`${up.url}api/events`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ kind: "kernel", title: line, labels: { host: "own" } }),
      });
      expect(posted.status).toBe(201);
      const { page, complaints } = await openPage(
        browser,
        `${up.url}host?host=own&range=5m`,
        {},
        ".host-charts .chart .u-over",
      );
      for (const title of ["CPU", "Memory", "Network", "GPU utilisation"])
        await page.getByRole("heading", { name: title, exact: true }).waitFor();
      // A line per disk and file system that this machine reports; a machine without any says so.
      const series = async (metric: string): Promise<readonly Record<string, string>[]> => {
        const query = new URLSearchParams({ "match[]": `${metric}{host="own"}` });
        const answer = await fetch(`${up.url}api/v1/series?${query.toString()}`);
        return ((await answer.json()) as { data: Record<string, string>[] }).data;
      };
      const absent = page.locator(".host-charts p", { hasText: "Not reported by this machine" });
      for (const [title, metric, parts] of [
        ["Disk throughput", "host_disk_bytes_total", ["disk", "action"]],
        ["Disk busy", "host_disk_busy_seconds_total", ["disk"]],
        ["Disk space used", "host_filesystem_size_bytes", ["mountpoint"]],
      ] as const) {
        const lines = (await series(metric)).map((labels) =>
          parts.map((name) => labels[name]).join(" "),
        );
        if (lines.length === 0) expect(await absent.innerText()).toContain(title);
        else
          await expect
            .poll(
              async () =>
                (
                  await page
                    .locator(".chart", {
                      has: page.getByRole("heading", { name: title, exact: true }),
                    })
                    .locator(".chart-legend tbody th button:first-of-type")
                    .allInnerTexts()
                )
                  .map((text) => text.trim())
                  .sort(),
              { timeout: 60_000 },
            )
            .toEqual(lines.sort());
      }
      const row = page.locator(".host-events li", { hasText: line });
      await row.getByRole("button").click();
      await expect.poll(() => row.getAttribute("data-at-cursor")).toBe("");
      // The charts read that instant; pointing at another chart moves the cursor away from it.
      await expect
        .poll(() => page.locator(".chart th", { hasText: "at cursor" }).count())
        .toBeGreaterThan(3);
      await page
        .locator(".host-charts .u-over")
        .first()
        .hover({ position: { x: 5, y: 20 } });
      await expect.poll(() => row.getAttribute("data-at-cursor")).toBe(null);
      await expect
        .poll(() => page.locator(".topology > p").innerText(), { timeout: 30_000 })
        .toMatch(/^6 GPUs on 1 NUMA node, 3 without a reported node\. 3 of them reach each other/);
      const gpu = page.locator(".topology-picture a").first();
      expect(await gpu.getAttribute("data-tip")).toMatch(
        /^GPU 0: NVIDIA H200\nPCI 0000:18:00\.0\nPCIe 5 ×16/,
      );
      await gpu.click();
      await page.waitForSelector('main[data-page="gpu"] .gpu-head');
      await page.locator(".gpu-head").getByRole("link", { name: "own" }).click();
      await page.waitForSelector(".host-gpus tbody tr");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("figures over the range stand beside those of now, and can be sorted by", async () => {
      const { page } = await open("?view=range&sort=-power.max&range=5m");
      const watts = async () =>
        (await page.locator('td.c-max[data-family="power"]').allInnerTexts()).map((text) =>
          Number.parseFloat(text.replaceAll("\u202f", "")),
        );
      await expect
        .poll(async () => (await watts()).filter(Number.isFinite).length, { timeout: 30_000 })
        .toBeGreaterThan(5);
      await expect
        .poll(async () => {
          const shown = await watts();
          return shown.toString() === [...shown].sort((one, other) => other - one).toString();
        })
        .toBe(true);
      await page.keyboard.press("v");
      await expect.poll(() => page.locator("td.c-max").count()).toBe(0);
      expect(new URL(page.url()).searchParams.get("view")).toBe(null);
      await page.context().close();
    });

    test("energy of today has a cost at the price that was set, and the browser keeps it", async () => {
      const { page } = await open();
      const figure = page.locator(".figure", { hasText: "Energy today" });
      await expect.poll(() => figure.innerText(), { timeout: 30_000 }).toMatch(/\d kWh/);
      await figure.getByRole("button").click();
      await page.getByLabel("Price and currency").fill("0,25 EUR");
      await page.getByRole("button", { name: "Save" }).click();
      await expect.poll(() => figure.innerText()).toMatch(/\d EUR at 0.25 EUR/);
      await page.reload();
      await expect.poll(() => figure.innerText(), { timeout: 30_000 }).toContain("at 0.25 EUR");
      await page.context().close();
    });

    test("nothing overflows and axe finds nothing, at every width in both themes", async () => {
      for (const query of ["", "?by=host&view=range"]) {
        const { page } = await open(query);
        expect(await layoutFaults(page), query).toEqual([]);
        await page.context().close();
      }
    });

    test("NVLink and MIG are part of a host's topology, also in a past range", async () => {
      const atMs = Math.floor(Date.now() / 1_000) * 1_000 - 1_800_000;
      const file = path.join(await mkdtemp(path.join(tmpdir(), "gpulse-links-")), "links.om");
      await writeFile(file, linkedHost(atMs / 1_000));
      const done = await runGpulse(["import", file, "--format", "openmetrics", "--url", up.url]);
      expect(done).toMatchObject({ code: 0 });
      const iso = (ms: number) => new Date(ms).toISOString();
      const { page, complaints } = await openPage(
        browser,
        `${up.url}host?host=linked&from=${iso(atMs - 60_000)}&to=${iso(atMs + 60_000)}`,
        {},
        ".topology-picture a",
      );
      expect(await page.locator(".topology > p").innerText()).toMatch(
        /^2 GPUs on 1 NUMA node\. .*reach each other/,
      );
      const gpus = page.locator(".topology-picture a");
      expect(await gpus.count()).toBe(2);
      expect(await gpus.first().getAttribute("data-tip")).toMatch(
        /^GPU 0: H200\n.*\n2 links up\nMIG: H200 MIG 1g\.18gb, H200 MIG 3g\.71gb$/,
      );
      expect(await gpus.last().textContent()).toContain("1 of 2 links");
      expect(await page.locator('.topology-picture .bus[data-via="NVLink"]').count()).toBe(1);
      expect(await page.locator(".topology-picture .part-of").count()).toBe(2);
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  },
);

describe.skipIf("missing" in chromium)(
  `a fleet of hundreds in a real browser${skipped}`,
  { timeout: 120_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort(), "sim:300");
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
    });

    test("one canvas shows all of them, and pointer and keys still name and open each", async () => {
      const { page, complaints } = await openPage(browser, up.url);
      const map = page.locator(".heat-canvas");
      expect(await map.locator("canvas").count()).toBe(1);
      const cell = map.getByRole("button");
      await map.hover({ position: { x: 14 * 3 + 4, y: 4 } });
      await expect.poll(() => cell.getAttribute("aria-label")).toMatch(/#3: \d+\s% utilised/);
      await expect.poll(() => page.locator(".tip").innerText()).toContain("#3:");
      await cell.focus();
      await page.keyboard.press("ArrowRight");
      await expect
        .poll(() => page.locator(".cell-at:focus").getAttribute("aria-label"))
        .toContain("#4:");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator(".inspector h2").innerText()).toContain("#4");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("only the rows on screen exist, and the last is reached by scrolling", async () => {
      const { page } = await openPage(browser, up.url);
      expect(await page.locator("tbody tr[data-uuid]").count()).toBeLessThan(80);
      expect(await page.locator("table.fleet").getAttribute("aria-rowcount")).toBe("301");
      await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
      await expect
        .poll(() => page.locator("tbody tr[data-uuid] .name").last().innerText())
        .toContain("#299");
      await page.context().close();
    });
  },
);
