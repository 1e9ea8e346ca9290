/** The page of a hub without GPUs of its own: all data comes from an agent that it scrapes. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { startHub } from "../../engines/hub.ts";
import { ensureBuild, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { openBrowser, openPage } from "./browser.ts";

test(
  "GPUs that are only scraped are said to be simulated too",
  { timeout: 180_000 },
  async (context) => {
    const chromium = toolOrSkip(context, "chromium");
    await ensureBuild();
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-scraped-"));
    const config = path.join(folder, "prometheus.yml");
    const agent = await startAgent(["--source", "sim:2"]);
    const job = { job_name: "gpu", static_configs: [{ targets: [`127.0.0.1:${agent.port}`] }] };
    await writeFile(
      config,
      JSON.stringify({ global: { scrape_interval: "1s" }, scrape_configs: [job] }),
    );
    const hub = await startHub({
      dataDir: path.join(folder, "data"),
      args: ["--prometheus-config", config],
    });
    const browser = await openBrowser(chromium);
    try {
      await hub.process.waitForUrl(`${hub.url}/-/ready`);
      const { page } = await openPage(browser, hub.url, {}, "main");
      await expect
        .poll(() => page.locator(".notice.simulated").allInnerTexts(), { timeout: 60_000 })
        .toEqual([expect.stringContaining("All GPUs are simulated")]);
    } finally {
      await browser.close();
      await hub.stop();
      await agent.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
