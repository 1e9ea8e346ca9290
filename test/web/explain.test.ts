// A rule fires on a GPU with an Xid: command line, API, MCP and page explain the alert, the GPU and its job in the same way.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hubProgram } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import type { JobSummary } from "../../src/view/jobs/summary.ts";
import type { Explanation } from "../../src/view/explain/explanation.ts";
import { callTool, connectHttp, type McpHub, startMcpHub, tableOf } from "../hub/mcp-lab.ts";
import { openBrowser, openPage } from "./browser.ts";
import { layoutFaults } from "./layouts.ts";

const scenario = `
fleet:
  - { model: H200, count: 4 }
queue:
  users: 16
  jobs:
    - { kind: training, minutes: [60, 90] }
faults:
  - { fault: xid, gpu: 1, at: 20s, for: 1h, amount: 48 }
`;
const rules = `
groups:
  - name: lab
    interval: 1s
    rules:
      - alert: MemoryReturnedWrongData
        expr: gpu_xid_errors_total{xid="48"} > 0
        labels: { severity: critical }
        annotations: { summary: "GPU {{ $labels.gpu }} returned wrong data" }
      - alert: WatchdogOnly
        expr: vector(1)
`;

interface ListedAlert {
  readonly fingerprint: string;
  readonly startsAt: string;
  readonly labels: Readonly<Record<string, string>>;
}

let hub: McpHub;
let folder = "";
let fired: ListedAlert;
let job: JobSummary;

const alertNamed = (name: string): Promise<ListedAlert> =>
  waitUntil({ what: `the alert ${name}`, timeoutMs: 90_000 }, async () => {
    const reply = await fetch(`${hub.url}/api/v2/alerts`);
    return ((await reply.json()) as ListedAlert[]).find(
      ({ labels }) => labels["alertname"] === name,
    );
  });

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-explain-page-"));
  const [rulesFile, scenarioFile] = [path.join(folder, "rules.yml"), path.join(folder, "lab.yaml")];
  await writeFile(rulesFile, rules);
  await writeFile(scenarioFile, scenario);
  hub = await startMcpHub("up", [
    `--source=sim:4?scenario=${scenarioFile}`,
    `--rules=${rulesFile}`,
    "--host-name=gpu-node-1",
  ]);
  fired = await alertNamed("MemoryReturnedWrongData");
  job = await waitUntil({ what: "the job of the GPU", timeoutMs: 150_000 }, async () => {
    const reply = await fetch(`${hub.url}/api/jobs?uuid=${fired.labels["uuid"] ?? ""}`);
    return ((await reply.json()) as { jobs: JobSummary[] }).jobs[0];
  });
}, 300_000);
afterAll(async () => {
  await hub?.stop();
  await rm(folder, { recursive: true, force: true });
});

const gpulse = (...args: string[]) =>
  runProcess(process.execPath, [hubProgram, ...args, "--url", hub.url]);

describe("a firing alert", () => {
  test("gpulse explain --alert names the Xid at the alert's start, with query and fix", async () => {
    const { code, stdout, stderr } = await gpulse("explain", "--alert", fired.fingerprint);
    expect([code, stderr]).toEqual([0, ""]);
    const at = new Date(fired.startsAt).toISOString().slice(0, 19).replace("T", " ");
    expect(stdout).toContain(`MemoryReturnedWrongData on GPU 1 of gpu-node-1 at ${at} UTC`);
    expect(stdout).toMatch(/^1\. Error reported by the driver \(\d\d % sure, for .+\)$/m);
    expect(stdout).toMatch(/gpu_xid_errors_total .*xid="48"/);
    expect(stdout).toMatch(/^ {3}Fix: .{20,} \(\/runbook\/\w+\)$/m);
  });

  test("the API answers the same, and another moment where one is named", async () => {
    const get = async (query: string): Promise<Explanation> =>
      (await (
        await fetch(`${hub.url}/api/explain?alert=${fired.fingerprint}${query}`)
      ).json()) as Explanation;
    const found = await get("");
    expect(found).toMatchObject({
      subject: { kind: "alert", id: fired.fingerprint },
      timeMs: Date.parse(fired.startsAt),
      outcome: "causes",
    });
    expect(found.causes[0]).toMatchObject({ cause: "xid_error", gpus: [fired.labels["uuid"]] });
    const timeMs = Date.parse(fired.startsAt) + 5_000;
    expect((await get(`&time=${timeMs / 1_000}`)).timeMs).toBe(timeMs);
  });

  test("the MCP tool takes the fingerprint that list_alerts shows", async () => {
    const client = await connectHttp(hub.url);
    const alerts = tableOf((await callTool(client, "list_alerts")).text);
    expect(alerts.flat()).toContain(JSON.stringify(fired.fingerprint));
    const { text, isError } = await callTool(client, "explain", { alert: fired.fingerprint });
    expect([isError, tableOf(text)[1]?.[3]]).toEqual([false, expect.stringContaining("Xid 48")]);
    await client.close();
  });

  test("one that an Alertmanager client posted is explained at the start it was given", async () => {
    const startsAt = new Date(Date.parse(fired.startsAt) + 3_000).toISOString();
    const labels = { alertname: "Posted", uuid: fired.labels["uuid"], host: "gpu-node-1" };
    const reply = await fetch(`${hub.url}/api/v2/alerts`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify([{ labels, startsAt }]),
    });
    expect(reply.status).toBe(200);
    const { fingerprint } = await alertNamed("Posted");
    const { stdout } = await gpulse("explain", "--alert", fingerprint, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ timeMs: Date.parse(startsAt), outcome: "causes" });
  });

  test.for([
    ["0123456789abcdef", "No alert"],
    ["", "names no GPU or machine"],
  ] as const)(
    "an alert that has nothing to look at is an error (%s)",
    async ([given, sentence]) => {
      const fingerprint = given === "" ? (await alertNamed("WatchdogOnly")).fingerprint : given;
      const { code, stderr } = await gpulse("explain", "--alert", fingerprint);
      expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
    },
  );
});

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";

describe.skipIf("missing" in chromium)(`the panel in a real browser${skipped}`, () => {
  let browser: Browser;
  beforeAll(async () => (browser = await openBrowser("path" in chromium ? chromium.path : "")));
  afterAll(() => browser?.close());

  const places: readonly (readonly [
    string,
    () => string,
    (page: Page) => ReturnType<Page["locator"]>,
  ])[] = [
    [
      "gpu",
      () => `gpu?uuid=${fired.labels["uuid"] ?? ""}`,
      (page) => page.locator("details.explain"),
    ],
    [
      "job",
      () => `jobs?id=${encodeURIComponent(job.id)}`,
      (page) => page.locator(".job details.explain"),
    ],
    [
      "alert",
      () => "alerts",
      (page) => page.locator('[data-alert="MemoryReturnedWrongData"] details.explain'),
    ],
  ];

  test.for(places)(
    "on the page of the %s, in both themes and at every width",
    async ([name, address, panelOf]) => {
      const { page, complaints, strangers } = await openPage(
        browser,
        `${hub.url}/${address()}`,
        {},
        "details.explain",
      );
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      const panel = panelOf(page);
      const isAsked = () => asked.some((url) => url.includes("api/explain"));
      expect(isAsked()).toBe(false);
      await panel.locator("summary").click();
      const cause = panel.locator('li[data-cause="xid_error"]').first();
      await cause.waitFor();
      expect(isAsked()).toBe(true);
      expect(await cause.innerText()).toMatch(
        /\d\d % sure[\s\S]*Xid 48[\s\S]*gpu_xid_errors_total[\s\S]*Fix:/,
      );
      const query = await cause.locator("td a").first().getAttribute("href");
      expect(query).toMatch(/explore\?.*gpu_xid_errors_total/);
      expect(await cause.locator("code").allInnerTexts()).toEqual(["nvidia-bug-report.sh"]);
      expect(await panel.innerText()).toMatch(/Looked at \d+ series of 4 GPUs: .+ of history\./);
      await panel.scrollIntoViewIfNeeded();
      expect(await layoutFaults(page, `explain-${name}`)).toEqual([]);
      expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
      await page.context().close();
    },
  );
});
