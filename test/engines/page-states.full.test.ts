/**
 * The states that the pages of a healthy fleet do not show: an empty hub, faults, a lost GPU, past ranges, forms and boards. Each fits at
 * every width in both themes, axe finds no violation, and a screenshot is saved in `screenshots/` for review.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { pageNames } from "../../src/hub/page-names.ts";
import { openBrowser, openPage } from "../web/browser.ts";
import { layoutFaults } from "../web/layouts.ts";
import { type RunningUp, startUp } from "../web/up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

const scenario = `says: Eight H200 train; a fan stops, a GPU is lost, others report errors.
fleet: [{ model: H200, count: 8 }]
workloads: [{ gpus: all, run: training }]
faults:
  - { fault: fan-failure, gpu: 1, at: 0s, for: 1h }
  - { fault: gpu-lost, gpu: 4, at: 20s, for: 1h }
  - { fault: xid, gpu: 2, at: 25s, amount: 79 }
  - { fault: ecc-growth, gpu: 6, at: 0s, for: 1h, amount: 30 }
  - { fault: stuck-clocks, gpu: 7, at: 0s, for: 1h }
`;
/** Until the faults above have happened and their first alerts fire. */
const FAULTS_MS = 90_000;
const arrived = "main :is(h2, h3, .chart, table, .empty, .onboarding), body > h1, main > h1";

const query = (expression: string): string => encodeURIComponent(expression);
/** By name; UUID and HOST are those of the simulated fleet, FROM and TO its first minute. */
const states: Readonly<Record<string, string>> = {
  ...Object.fromEntries(pageNames.map((name) => [`faults-${name}`, `${name}?range=5m`])),
  "faults-gpu-clocks": "gpu?uuid=UUID7&range=5m",
  "faults-gpu-lost": "gpu?uuid=UUID4&range=5m",
  "faults-gpu-xid": "gpu?uuid=UUID2&range=5m",
  "faults-past": "?from=FROM&to=TO",
  "faults-selected": "?gpu=UUID1",
  "faults-by-host": "?by=host",
  "faults-compare-gpus": "compare?gpus=UUID0,UUID7&range=5m",
  "faults-alerts-rules": "alerts?tab=rules",
  "faults-alerts-events": "alerts?tab=events&range=15m",
  "faults-alerts-silences": "alerts?tab=silences",
  "faults-alerts-history": "alerts?tab=history&range=15m",
  "faults-jobs-books": "jobs?tab=books",
  "faults-system-storage": "system?tab=storage",
  "faults-system-channels": "system?tab=channels",
  "faults-rule-editor": `alerts?tab=rules&new=${query("gpu_temperature_celsius > 60")}`,
  "faults-explore-graph": `explore?range=5m&expr=${query("gpu_power_watts")}`,
  "faults-explore-table": `explore?range=5m&tab=table&expr=${query("gpu_power_watts")}`,
  "faults-explore-error": `explore?expr=${query("sum(")}`,
  "faults-boards-tv": "boards?mode=tv",
  "faults-runbook": "runbooks?alert=GpuLost",
  "faults-unknown": "nothing-here",
};

describe.skipIf("missing" in chromium)(
  `the states of the pages in a real browser${skipped}`,
  { timeout: 180_000 },
  () => {
    let browser: Browser;
    let up: RunningUp;
    let hub: RunningProcess;
    let data: string;
    let startMs: number;
    let empty: string;

    beforeAll(async () => {
      await ensureBuild();
      data = await mkdtemp(path.join(tmpdir(), "gpulse-states-"));
      const file = path.join(data, "faults.yaml");
      await writeFile(file, scenario);
      up = await startUp(await freePort(), `sim:?scenario=${file}`);
      startMs = Date.now();
      empty = `http://127.0.0.1:${await freePort()}/`;
      const args = [
        program,
        "hub",
        "--port",
        new URL(empty).port,
        "--data",
        path.join(data, "hub"),
      ];
      hub = startProcess(process.execPath, [...args, "--no-self-scrape"], { name: "gpulse hub" });
      await hub.waitForUrl(`${empty}-/ready`, 120_000);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      await sleep(FAULTS_MS);
    }, 500_000);
    afterAll(async () => {
      await browser?.close();
      await hub?.stop();
      await up?.process.stop();
      await rm(data, { recursive: true, force: true });
    });

    const addressOf = async (state: string): Promise<string> => {
      const { devices } = (await (await fetch(`${up.url}api/fleet`)).json()) as {
        devices: { uuid: string; host: string }[];
      };
      const iso = (ms: number): string => new Date(Math.floor(ms / 1_000) * 1_000).toISOString();
      return state
        .replaceAll(/UUID(\d)/g, (_, at: string) => {
          const device = devices[Number(at)];
          return device === undefined ? "" : `${device.uuid}@${device.host}`;
        })
        .replace("FROM", iso(startMs - 60_000))
        .replace("TO", iso(startMs + 60_000));
    };

    const check = async (name: string, url: string): Promise<void> => {
      const { page, complaints } = await openPage(browser, url, {}, arrived);
      await sleep(2_500);
      expect(await layoutFaults(page, name)).toEqual([]);
      expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
      await page.context().close();
    };

    test.each(pageNames)("%s of a hub without GPUs", async (name) => {
      await check(`empty-${name}`, `${empty}${name}`);
    });

    test.each(Object.entries(states))("%s", async (name, state) => {
      await check(name, `${up.url}${await addressOf(state)}`);
    });
  },
);
