import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { hashSync } from "bcryptjs";
import type { Browser } from "playwright-core";
import { parse } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { violationsOn } from "./accessible.ts";
import { type AlertHub, startAlertHub } from "./alert-hub.ts";
import { layoutFaults } from "./layouts.ts";
import { openBrowser, openPage } from "./browser.ts";
import { startUp } from "./up.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const poll = { timeout: 20_000 };

/** A short GPU-Z log of the hour before, in UTC. */
function gpuzLog(nowMs: number): string {
  const head =
    "        Date        , GPU Clock [MHz] , GPU Temperature [°C] , Board Power Draw [W] ,";
  const rows = Array.from({ length: 30 }, (_, at) => {
    const time = new Date(nowMs - 3_600_000 + at * 1_000).toISOString();
    return `${time.slice(0, 10)} ${time.slice(11, 19)} , 2124.0 , ${50 + at}.0 , 200.5 ,`;
  });
  return [head, ...rows, ""].join("\r\n");
}

describe.skipIf("missing" in chromium)(
  `the system page in a real browser${skipped}`,
  { timeout: 60_000 },
  () => {
    let hub: AlertHub;
    let browser: Browser;
    let folder: string;
    beforeAll(async () => {
      await ensureBuild();
      folder = await mkdtemp(path.join(tmpdir(), "gpulse-system-page-"));
      hub = await startAlertHub(await freePort());
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await hub?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const open = (query = "", options: Parameters<typeof openPage>[2] = {}) =>
      openPage(browser, `${hub.url}system${query}`, options, ".tabs");

    const tabs = ["", "?tab=storage", "?tab=pipes", "?tab=channels", "?tab=access"];
    test(
      "every part at every width and in both themes has nothing cut off and nothing inaccessible",
      { timeout: 170_000 },
      async () => {
        const { page, complaints, strangers } = await open();
        for (const tab of tabs) {
          await page.goto(`${hub.url}system${tab}`);
          await page.waitForSelector(".tabs");
          await page.waitForTimeout(700);
          expect(await layoutFaults(page), tab).toEqual([]);
        }
        expect(complaints).toEqual([]);
        expect(strangers).toEqual([]);
        await page.context().close();
      },
    );

    test("a log that is chosen is in the history afterwards, and what is no log is refused in words", async () => {
      const { page } = await open("?tab=storage", { timezoneId: "UTC" });
      const [log, other] = [path.join(folder, "rx.txt"), path.join(folder, "cat.png")];
      await writeFile(log, gpuzLog(Date.now()), "latin1");
      await writeFile(other, "not a log at all");
      await page.getByText("Details that the log lacks").click();
      await page.getByLabel("Name of the GPU").fill("AMD Radeon RX 7800 XT");
      await page.getByLabel("Machine").fill("bench-pc");
      await page.locator('input[type="file"]').setInputFiles(log);
      await expect
        .poll(() => page.locator(".drop").innerText(), poll)
        .toMatch(/rx\.txt \(gpuz\): \d+ samples are in the history/);
      const query = new URLSearchParams({
        query: 'max_over_time(gpu_temperature_celsius{host="bench-pc"}[2h])',
      });
      const answer = await fetch(`${hub.url}api/v1/query?${query.toString()}`);
      const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
      expect(data.result.map(({ value }) => value[1])).toEqual(["79"]);
      await page.locator('input[type="file"]').setInputFiles(other);
      await expect
        .poll(() => page.locator(".drop .bad").innerText(), poll)
        .toContain("The format of cat.png is unknown");
      await page.context().close();
    });

    test("a channel's form becomes lines that are read as they were typed, and writes no file", async () => {
      const { page } = await open("?tab=channels");
      await page.getByRole("button", { name: "Slack" }).click();
      await page.getByLabel("Name of the receiver").fill("on call");
      await page.getByLabel("Api url", { exact: true }).fill("$SLACK_WEBHOOK");
      await page.getByLabel("Channel", { exact: true }).fill("#gpus");
      await page.getByRole("button", { name: "Show YAML" }).click();
      const text = await page
        .getByLabel("the YAML for alertmanager.yml", { exact: true })
        .innerText();
      expect(parse(text)).toEqual({
        receivers: [
          { name: "on call", slack_configs: [{ api_url: "$SLACK_WEBHOOK", channel: "#gpus" }] },
        ],
      });
      await page.context().close();
    });

    test("without an administrator the pipes say how to become one", async () => {
      const { page } = await open("?tab=pipes");
      await expect
        .poll(() => page.locator("main").innerText(), poll)
        .toContain("gpulse token add NAME --scope admin");
      await page.context().close();
    });

    /** Created on the command line, like every first token; reading needs no token on loopback. */
    let adminToken: string | undefined;
    const openAsAdmin = async (query = "") => {
      const add = [program, "token", "add", "boss", "--scope", "admin", "--data", hub.dataDir];
      adminToken ??= (await runProcess(process.execPath, add)).stdout.split("\n", 1)[0] ?? "";
      const opened = await openPage(browser, `${hub.url}login`, {}, 'input[name="name"]');
      await opened.page.getByLabel("Password or token").fill(adminToken);
      await opened.page.getByRole("button", { name: "Log in" }).click();
      await opened.page.waitForSelector("header.top");
      await opened.page.goto(`${hub.url}system${query}`);
      await opened.page.waitForSelector(".tabs");
      return opened;
    };

    test("a pipe is added, seen to run, stopped, and removed after a question, all by keyboard and label", async () => {
      const { page, complaints } = await openAsAdmin("?tab=pipes");
      await expect
        .poll(() => page.locator(".empty").innerText(), poll)
        .toContain("gpulse pipe --from");
      await page.getByRole("button", { name: "Add a pipe" }).press("Enter");
      await page.getByLabel("Name", { exact: false }).first().fill("to the lake");
      await page.getByLabel("From").fill("simm:1");
      await page.getByLabel("To", { exact: false }).last().fill(`parquet:${folder}/lake`);
      await page.getByRole("button", { name: "Add and start" }).press("Enter");
      await expect
        .poll(() => page.locator(".schema-form .bad").innerText(), poll)
        .toContain('There is no source "simm"');
      await page.getByLabel("From").fill("sim:1");
      await page.getByRole("button", { name: "Add and start" }).press("Enter");
      const row = page.locator(".pipes tbody tr", { hasText: "to the lake" });
      const cell = (name: string) => row.locator(`td[data-column="${name}"]`);
      await expect.poll(() => cell("state").innerText(), poll).toMatch(/^running/);
      await expect
        .poll(async () => Number(await cell("frames").innerText()), poll)
        .toBeGreaterThan(0);
      expect(await cell("lag").innerText()).toMatch(/\d/);
      const missing = `csv:${folder}/${"a-file-that-is-not-there-".repeat(6)}.csv`;
      await fetch(`${hub.url}api/pipes`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${adminToken ?? ""}`,
        },
        body: JSON.stringify({
          name: "broken",
          kind: "pipe",
          from: [missing],
          to: [`parquet:${folder}/x`],
        }),
      });
      const broken = page.locator(".pipes tbody tr", { hasText: "broken" });
      await expect
        .poll(() => broken.locator('td[data-column="trouble"]').innerText(), poll)
        .toContain("a-file-that-is-not-there");
      expect(await layoutFaults(page, "system-pipes")).toEqual([]);
      await fetch(`${hub.url}api/pipes/2`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${adminToken ?? ""}` },
      });
      await page.getByRole("button", { name: "Stop to the lake" }).press("Enter");
      await expect.poll(() => cell("state").innerText(), poll).toMatch(/^stopped/);
      await page.getByRole("button", { name: "Remove to the lake" }).press("Enter");
      await page.getByRole("button", { name: "Cancel" }).press("Enter");
      expect(await row.count()).toBe(1);
      await page.getByRole("button", { name: "Remove to the lake" }).press("Enter");
      expect(await violationsOn(page)).toEqual([]);
      await page.getByRole("button", { name: "Remove pipe" }).press("Enter");
      await expect
        .poll(() => page.locator(".empty").innerText(), poll)
        .toContain("No pipe runs with this hub");
      expect(complaints.filter((one) => !one.includes("400"))).toEqual([]);
      await page.context().close();
    });

    test("a machine is added by a line with its token, and the token can be revoked", async () => {
      const { page } = await openAsAdmin();
      await page.getByRole("button", { name: "Add a machine" }).click();
      await page.getByLabel("Name of the machine").fill("node-7");
      await page.keyboard.press("Enter");
      const line = page.getByLabel("the line that adds the machine", { exact: true });
      await expect
        .poll(() => line.innerText(), poll)
        .toMatch(/gpulse agent --push http:\/\/gpu-node-1:\d+ --token gpulse_push_[\w-]{43}$/);
      const token = /gpulse_push_[\w-]{43}/.exec(await line.innerText())?.[0] ?? "";
      const push = (authorization: string) =>
        fetch(`${hub.url}push`, { method: "POST", headers: { authorization } });
      expect((await push(`Bearer ${token}`)).status).not.toBe(401);
      expect((await push("Bearer gpulse_push_wrong")).status).toBe(401);
      await page.getByRole("link", { name: "Access" }).click();
      const tokens = page.getByRole("region", { name: "Tokens" }).locator("tbody");
      await expect.poll(() => tokens.innerText(), poll).toMatch(/node-7[\s\S]*push/);
      expect(await page.content()).not.toContain(token);
      await page.getByRole("button", { name: "Revoke node-7" }).click();
      await expect.poll(() => tokens.innerText(), poll).not.toContain("node-7");
      expect((await push(`Bearer ${token}`)).status).toBe(401);
      await page.context().close();
    });

    test("a user of the web configuration file sees the users by name", async () => {
      const file = path.join(folder, "web.yml");
      await writeFile(
        file,
        `basic_auth_users: { ada: "${hashSync("engine", 4)}", grace: "${hashSync("other", 4)}" }\n`,
      );
      const up = await startUp(await freePort(), "sim:1", ["--web-config-file", file]);
      try {
        const { page } = await openPage(browser, `${up.url}login`, {}, 'input[name="name"]');
        await page.getByLabel("User").fill("ada");
        await page.getByLabel("Password or token").fill("engine");
        await page.getByRole("button", { name: "Log in" }).click();
        await page.waitForSelector("header.top");
        await page.goto(`${up.url}system?tab=access`);
        const users = page.getByRole("region", { name: "Users" });
        await expect.poll(() => users.innerText(), poll).toContain("ada, grace");
        expect(await page.content()).not.toContain("$2");
        expect(await violationsOn(page)).toEqual([]);
        await page.context().close();
      } finally {
        await up.process.stop();
      }
    });

    test("who is not logged in sees no tokens, and is told so", async () => {
      const answer = await fetch(`${hub.url}api/tokens`);
      expect(answer.status).toBe(401);
    });
  },
);
