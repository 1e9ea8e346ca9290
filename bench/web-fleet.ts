/** A complete gpulse with a simulated fleet, the pages of the web benchmark in front of it, and a Chromium to open them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { requiredTool } from "../engines/cache.ts";
import { freePort } from "../engines/ports.ts";
import { program } from "../engines/program.ts";
import { startProcess } from "../engines/process.ts";
import { type Pages, servePages } from "./web-pages.ts";

/** The wait before measuring: caches are filled, the first charts drawn. */
export const SETTLE_MS = 8_000;
/** Large fleets are painted on a canvas, small ones are buttons. */
export const CELL = ".heatmap .cell, .heatmap canvas";
export const CURVE = ".chart .u-over";

export async function withFleet(
  gpus: number,
  work: (pages: Pages) => Promise<void>,
): Promise<void> {
  const data = await mkdtemp(path.join(tmpdir(), "gpulse-bench-web-"));
  const port = await freePort();
  const args = [program, "up", "--source", `sim:${gpus}`, "--port", String(port), "--no-open"];
  const hub = startProcess(process.execPath, [...args, "--data", data], { name: "gpulse up" });
  const url = `http://127.0.0.1:${port}/`;
  try {
    await hub.waitForUrl(`${url}-/ready`, 180_000);
    await sleep(SETTLE_MS);
    const pages = await servePages(url);
    try {
      await work(pages);
    } finally {
      await pages.stop();
    }
  } finally {
    await hub.stop();
    await rm(data, { recursive: true, force: true });
  }
}

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: requiredTool("chromium"),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
