// Native histograms, annotations and exemplars in a real browser, from a target that the hub scrapes.

import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type NativeEndpoint, startNativeEndpoint } from "../engines/native-endpoint.ts";
import { openBrowser, openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";
import { type RunningUp, startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const slow = { timeout: 30_000 };
const editor = ".promql .cm-content";

describe.skipIf("missing" in chromium)(
  `Histograms in a real browser${skipped}`,
  { timeout: 120_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let endpoint: NativeEndpoint;
    let uuid = "";

    beforeAll(async () => {
      await ensureBuild();
      const folder = await mkdtemp(path.join(tmpdir(), "gpulse-histograms-"));
      const [config, targets] = [path.join(folder, "prometheus.yml"), path.join(folder, "t.json")];
      const job = {
        job_name: "serving",
        scrape_interval: "1s",
        scrape_timeout: "1s",
        scrape_native_histograms: true,
        file_sd_configs: [{ files: [targets], refresh_interval: "1s" }],
      };
      await writeFile(config, JSON.stringify({ scrape_configs: [job] }));
      await writeFile(targets, "[]");
      endpoint = await startNativeEndpoint(2_000, 40);
      up = await startUp(await freePort(), "sim:2", [
        "--prometheus-config",
        config,
        "--trace-url",
        "https://traces.example/{trace_id}",
      ]);
      const found = (what: string, query: string, label: string): Promise<string> =>
        waitUntil({ what, timeoutMs: 60_000 }, () => labelOf(up.url, query, label));
      uuid = await found("a GPU", "gpu_info", "uuid");
      const group = { targets: [endpoint.address], labels: { uuid } };
      await writeFile(targets, JSON.stringify([group]));
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      await found("histograms", "rate(request_latency_seconds[10s])", "gpu");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await up.process.stop();
      await endpoint.stop();
    });

    test("Explore draws a heatmap, quantile lines, and exemplars that lead to their traces", async () => {
      const query = encodeURIComponent("rate(request_latency_seconds[20s])");
      const url = `${up.url}explore?expr=${query}&range=5m`;
      const { page, complaints, strangers } = await openPage(browser, url, {}, editor);
      await expect.poll(() => page.locator(".heat canvas").count(), slow).toBe(1);
      await expect.poll(() => page.locator(".chart-legend tbody tr").count(), slow).toBe(9);
      const painted = `(() => { const canvas = document.querySelector(".heat canvas");
        return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0); })()`;
      await expect.poll(() => page.evaluate<boolean>(painted), slow).toBe(true);
      await expect.poll(() => page.locator(".exemplars a").count(), slow).toBeGreaterThan(2);
      const href = await page.locator(".exemplars a").first().getAttribute("href");
      expect(href).toMatch(/^https:\/\/traces\.example\/trace\d+$/);
      await page.locator(".heat canvas").hover();
      expect(await layoutFaults(page, "explore-histograms")).toEqual([]);
      expect(complaints).toEqual([]);
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("annotations stand under the editor, and the editor underlines where they point", async () => {
      const query = encodeURIComponent("quantile(2, power_watts) + rate(power_watts[20s])");
      const url = `${up.url}explore?expr=${query}`;
      const { page } = await openPage(browser, url, {}, editor);
      await expect
        .poll(() => page.locator(".annotations li").allInnerTexts(), slow)
        .toEqual([
          "PromQL warning: quantile value should be between 0 and 1, got 2 (1:10)",
          'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "power_watts" (1:33)',
        ]);
      await expect.poll(() => page.locator(".promql .cm-lintRange-warning").count(), slow).toBe(1);
      await expect.poll(() => page.locator(".promql .cm-lintRange-info").count(), slow).toBe(1);
      await page.context().close();
    });

    test("a bare histogram is offered as a rate, and the table writes histograms out", async () => {
      const url = `${up.url}explore?expr=margin_celsius`;
      const { page } = await openPage(browser, url, {}, editor);
      await page.getByRole("button", { name: "Table", exact: true }).click();
      await expect
        .poll(() => page.locator(".table tbody td").last().innerText(), slow)
        .toContain("{count:");
      await page.getByRole("button", { name: "Graph", exact: true }).click();
      await page.getByRole("button", { name: "Show its rate instead" }).click();
      await expect
        .poll(() => new URL(page.url()).searchParams.get("expr"), slow)
        .toBe("rate(margin_celsius[5m])");
      await page.context().close();
    });

    test("the page of a GPU shows the histograms that carry its identity", async () => {
      const url = `${up.url}gpu?uuid=${encodeURIComponent(uuid)}&range=5m`;
      const { page, complaints } = await openPage(browser, url, {}, ".chart");
      await expect.poll(() => page.locator(".heat canvas").count(), slow).toBeGreaterThan(1);
      await page.locator(".heat").first().scrollIntoViewIfNeeded();
      expect(await layoutFaults(page, "gpu-histograms")).toEqual([]);
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  },
);

async function labelOf(url: string, query: string, label: string): Promise<string | undefined> {
  const response = await fetch(`${url}api/v1/query?query=${encodeURIComponent(query)}`);
  const { data } = (await response.json()) as {
    data?: { result: readonly { metric: Readonly<Record<string, string>> }[] };
  };
  return data?.result[0]?.metric[label];
}
