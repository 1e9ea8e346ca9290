/**
 * Every page in every state a user can meet it in: an empty hub, a healthy fleet, faults, an agent that is gone, a hub that stopped, a
 * guest's shared view, before the data, and addresses of objects that do not exist. In each, at every width and in both themes, nothing
 * overflows, no text is a raw value, axe finds no violation and the console stays quiet. `GPULSE_SCREENSHOTS=1` saves the pictures.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type PageName, pageNames } from "../../src/hub/page-names.ts";
import { openBrowser, openPage } from "../web/browser.ts";
import { screenFaults } from "../web/layouts.ts";
import { type RunningUp, startUp } from "../web/up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const password = "correct horse battery";

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

/** A page has drawn when it has a heading, a chart or a table of its own, or a text for an empty page. */
const arrived = "main :is(h2, h3, .chart, table, .empty, .onboarding, .waiting, .events)";
const framed = "main[data-page] *";

const expression = (text: string): string => `expr=${encodeURIComponent(text)}`;
/** Further views of the faulty fleet; UUIDn stands for its GPU n, FROM and TO for its first minute. */
const views: Readonly<Record<string, string>> = {
  "gpu-fan": "gpu?uuid=UUID1&range=5m",
  "gpu-xid": "gpu?uuid=UUID2&range=5m",
  "gpu-lost": "gpu?uuid=UUID4&range=5m",
  "gpu-ecc": "gpu?uuid=UUID6&range=5m",
  "gpu-clocks": "gpu?uuid=UUID7&range=5m",
  "fleet-past": "fleet?from=FROM&to=TO",
  "fleet-range": "fleet?view=range&range=5m",
  "fleet-selected": "fleet?gpu=UUID1",
  "fleet-by-host": "fleet?by=host",
  "compare-gpus": "compare?gpus=UUID0,UUID7&range=5m",
  "alerts-rules": "alerts?tab=rules",
  "alerts-rule": "alerts?tab=rules&rule=GpuLost",
  "alerts-new-rule": `alerts?tab=rules&new=${encodeURIComponent("gpu_temperature_celsius > 60")}`,
  "alerts-silences": "alerts?tab=silences",
  "alerts-deliveries": "alerts?tab=history&range=15m",
  "alerts-events": "alerts?tab=events&range=15m",
  "jobs-ended": "jobs?tab=ended",
  "jobs-books": "jobs?tab=books",
  "system-storage": "system?tab=storage",
  "system-pipes": "system?tab=pipes",
  "system-channels": "system?tab=channels",
  "system-access": "system?tab=access",
  "system-audit": "system?tab=audit",
  "explore-graph": `explore?range=5m&${expression("gpu_power_watts")}`,
  "explore-table": `explore?range=5m&tab=table&${expression("gpu_power_watts")}`,
  "explore-error": `explore?${expression("sum(")}`,
  board: "boards?board=wall",
  "board-tv": "boards?board=wall&mode=tv",
  "board-embedded": "boards?board=wall&mode=embed",
  runbook: "runbooks?alert=GpuLost",
};

/** Per page, an address that names something the hub does not have. */
const unknown: Readonly<Record<PageName, string>> = {
  fleet: "gpu=GPU-0&q=nothing",
  gpu: "uuid=GPU-0",
  host: "host=nowhere",
  jobs: "id=none",
  serving: "id=none",
  compare: "gpus=GPU-0,GPU-1&range=5m",
  alerts: "tab=rules&rule=None",
  boards: "board=none",
  explore: `range=5m&${expression("no_such_metric")}`,
  analytics: "scope=GPU-0&range=6h",
  system: "tab=none",
  runbooks: "alert=None",
};

describe.skipIf("missing" in chromium)(
  `every state of every page in a real browser${skipped}`,
  { timeout: 300_000 },
  () => {
    let browser: Browser;
    let folder: string;
    let healthy: RunningUp;
    let faulty: RunningUp;
    let hub: RunningProcess;
    let empty: string;
    /** A hub whose only agent ended. */
    let left: string;
    let leftHub: RunningProcess;
    let admin: BrowserContextOptions;
    let guest: BrowserContextOptions;
    let startMs: number;

    const startHub = async (name: string): Promise<[RunningProcess, string]> => {
      const url = `http://127.0.0.1:${await freePort()}/`;
      const data = ["--port", new URL(url).port, "--data", path.join(folder, name)];
      const running = startProcess(
        process.execPath,
        [program, "hub", ...data, "--no-self-scrape"],
        {
          name: "gpulse hub",
        },
      );
      await running.waitForUrl(`${url}-/ready`, 120_000);
      return [running, url];
    };

    /** Sends eight seconds of an agent's readings and ends it. */
    const endAgent = async (url: string): Promise<void> => {
      const spool = ["--spool", path.join(folder, "spool")];
      const agent = startProcess(
        process.execPath,
        [program, "agent", "--source", "sim:4", "--port", "0", "--push", url, ...spool],
        { name: "gpulse agent" },
      );
      await waitUntil({ what: "the agent's readings", timeoutMs: 180_000 }, async () => {
        const query = encodeURIComponent("count_over_time(gpu_up[5m]) >= 8");
        const answer = await fetch(`${url}api/v1/query?query=${query}`);
        const { data } = (await answer.json()) as { data: { result: unknown[] } };
        return data.result.length > 0 ? true : undefined;
      });
      await agent.stop();
    };

    beforeAll(async () => {
      await ensureBuild();
      folder = await mkdtemp(path.join(tmpdir(), "gpulse-states-"));
      const file = path.join(folder, "faults.yaml");
      await writeFile(file, scenario);
      await writeFile(path.join(folder, "password"), `${password}\n`);
      const data = path.join(folder, "healthy");
      const user = ["user", "add", "ada", "--role", "admin", "--data", data];
      const secret = ["--password", `file:${path.join(folder, "password")}`];
      const added = await runProcess(process.execPath, [hubProgram, ...user, ...secret]);
      if (added.code !== 0) throw new Error(added.stderr);
      faulty = await startUp(await freePort(), `sim:?scenario=${file}`);
      startMs = Date.now();
      healthy = await startUp(await freePort(), "sim:8", ["--data", data, "--auth", "always"]);
      [hub, empty] = await startHub("empty");
      [leftHub, left] = await startHub("left");
      await endAgent(left);
      const board = {
        title: "Wall",
        variables: [{ name: "host", label: "host", selector: "gpu_info" }],
        panels: (["timeseries", "stat", "gauge", "table"] as const).map((kind) => ({
          id: kind,
          title: kind,
          kind,
          queries: [{ query: 'gpu_power_watts{host=~"$host"}' }],
          columns: 6,
          rows: 3,
        })),
      };
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(board);
      await fetch(`${faulty.url}api/boards`, { method: "POST", headers, body });
      browser = await openBrowser("path" in chromium ? chromium.path : "");
      ({ admin, guest } = await logIn(browser, healthy.url));
    }, 500_000);
    afterAll(async () => {
      await browser?.close();
      for (const one of [hub, leftHub, healthy?.process, faulty?.process]) await one?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const fill = async (url: string, address: string): Promise<string> => {
      const { devices } = (await (await fetch(`${url}api/fleet`)).json()) as {
        devices: { uuid: string; host: string }[];
      };
      const iso = (ms: number): string => new Date(Math.floor(ms / 1_000) * 1_000).toISOString();
      return `${url}${address
        .replaceAll(/UUID(\d)/g, (_, at: string) => {
          const device = devices[Number(at)];
          if (device === undefined) throw new Error(`BUG: there is no GPU ${at}`);
          return `${device.uuid}@${device.host}`;
        })
        .replace("FROM", iso(startMs - 60_000))
        .replace("TO", iso(startMs + 60_000))}`;
    };

    const check = async (
      name: string,
      url: string,
      options: BrowserContextOptions = {},
      /** Complaints that the browser itself makes of a response. */
      expected = /404/,
    ): Promise<void> => {
      const { page, complaints } = await openPage(browser, url, options, arrived);
      await drawn(page);
      const said = complaints.filter((text) => !expected.test(text));
      expectNone([...(await screenFaults(page, name)), ...said]);
      await page.context().close();
    };

    test.concurrent.each(pageNames)("%s of a hub without GPUs", async (name) => {
      await check(`empty-${name}`, `${empty}${name}`);
    });

    test.concurrent.each(pageNames)("%s of a healthy fleet", async (name) => {
      await check(`healthy-${name}`, `${healthy.url}${name}?range=5m`, admin);
    });

    test.concurrent.each(pageNames)("%s of a guest with a shared link", async (name) => {
      // System begins to read before the page knows that a guest is looking, who gets a sentence instead.
      const expected = name === "system" ? /40[34]/ : undefined;
      await check(`guest-${name}`, `${healthy.url}${name}?range=5m`, guest, expected);
    });

    test.concurrent.each(pageNames)("%s before a login is the login form", async (name) => {
      const page = await browser.newPage();
      await page.goto(`${healthy.url}${name}`);
      await page.waitForSelector('input[name="name"]');
      expect(await page.title()).toContain("gpulse");
      if (name === "fleet") expectNone(await screenFaults(page, "login"));
      await page.context().close();
    });

    test.concurrent.each(pageNames)("%s while the hub's answers are awaited", async (name) => {
      const context = await browser.newContext(admin);
      // Requests of a shared worker could not be held back.
      await context.addInitScript("delete window.SharedWorker");
      const page = await context.newPage();
      await page.route(/\/(?:api\/|metrics$)/, () => new Promise<void>(() => undefined));
      await page.goto(`${healthy.url}${name}?range=5m`);
      await page.waitForSelector(framed);
      await drawn(page);
      expectNone(await screenFaults(page, `loading-${name}`));
      await context.close();
    });

    test.concurrent.each(pageNames)("%s of something that does not exist", async (name) => {
      await check(`unknown-${name}`, `${healthy.url}${name}?${unknown[name]}`, admin);
    });

    test.concurrent.each(pageNames)("%s of a hub whose agent ended", async (name) => {
      await check(`left-${name}`, `${left}${name}?range=5m`);
    });

    describe("with faults and alerts", () => {
      beforeAll(async () => {
        await waitUntil({ what: "the alerts", timeoutMs: 240_000 }, async () => {
          const { active } = (await (await fetch(`${faulty.url}api/alert-summary`)).json()) as {
            active: { count: number }[];
          };
          return active.reduce((sum, { count }) => sum + count, 0) >= 3 ? true : undefined;
        });
      }, 300_000);

      test.concurrent.each(pageNames)("%s", async (name) => {
        await check(`faults-${name}`, `${faulty.url}${name}?range=5m`);
      });

      test.concurrent.each(Object.entries(views))("%s", async (name, address) => {
        const expected = name === "explore-error" ? /400/ : undefined;
        await check(`faults-${name}`, await fill(faulty.url, address), {}, expected);
      });
    });

    // The last state: the healthy hub does not come back.
    describe("of a hub that stopped while they were open", () => {
      const open = new Map<PageName, Page>();
      const said: string[] = [];
      let context: BrowserContext;
      beforeAll(async () => {
        context = await browser.newContext(admin);
        for (const name of pageNames) {
          const page = await context.newPage();
          page.on("pageerror", (error) => said.push(`${name}: ${error.message}`));
          await page.goto(`${healthy.url}${name}?range=5m`);
          await page.waitForSelector(arrived);
          await drawn(page);
          open.set(name, page);
        }
        await healthy.process.stop();
      }, 180_000);

      test.each(pageNames)("%s", async (name) => {
        const page = open.get(name);
        if (page === undefined) throw new Error("BUG: every page is open");
        await page.bringToFront();
        await page.waitForSelector(".notice.connection", { timeout: 60_000 });
        expectNone([...(await screenFaults(page, `stopped-${name}`)), ...said.splice(0)]);
        await page.close();
      });
    });
  },
);

/** Names every fault in the message. */
const expectNone = (faults: readonly string[]): void =>
  expect(faults.length, faults.join("\n")).toBe(0);

/** Resolves once no element was added for half a second: live values change texts only. */
const drawn = (page: Page): Promise<void> =>
  page.evaluate<void>(`new Promise((resolve) => {
    let quiet = setTimeout(resolve, 500);
    const end = setTimeout(resolve, 5000);
    new MutationObserver((changes) => {
      if (!changes.some(({ addedNodes }) => [...addedNodes].some((node) => node.nodeType === 1))) return;
      clearTimeout(quiet);
      quiet = setTimeout(resolve, 500);
    }).observe(document.body, { childList: true, subtree: true });
  })`);

/** The sessions of an administrator and of a guest with a link that the administrator shared. */
async function logIn(
  browser: Browser,
  url: string,
): Promise<{ admin: BrowserContextOptions; guest: BrowserContextOptions }> {
  const { page } = await openPage(browser, url, {}, 'input[name="name"]');
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Password or token").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForSelector("header.top");
  const link = await page.evaluate<string>(
    `fetch("api/shares", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "for the vendor", page: "/fleet", expiresInSeconds: 3600 }),
    }).then((answer) => answer.json()).then(({ path }) => path)`,
  );
  const admin = { storageState: await page.context().storageState() };
  await page.context().close();
  const shared = await openPage(browser, `${url}${link}`, {}, "header.top");
  const guest = { storageState: await shared.page.context().storageState() };
  await shared.page.context().close();
  return { admin, guest };
}
