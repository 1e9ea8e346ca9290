/**
 * A rule created from a chart in a real browser: the threshold is dragged, backtested, saved and edited; its channels are tested from
 * the form and really deliver; every page counts what fires.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { pageNames } from "../../src/hub/page-names.ts";
import { startFakeService } from "../fixtures/alerting/channels.ts";
import { startMailServer } from "../fixtures/alerting/channels-email.ts";
import { violationsOn } from "./accessible.ts";
import { openPage } from "./browser.ts";
import { describeInBrowser } from "./suite.ts";

const webhook = await startFakeService();
const mail = await startMailServer({ disabledCommands: ["STARTTLS"] });
const folder = await mkdtemp(path.join(tmpdir(), "gpulse-own-rules-page-"));
const routing = path.join(folder, "alertmanager.yml");
await writeFile(
  routing,
  `route: { receiver: team, group_wait: 0s, group_interval: 1s }
receivers:
  - name: team
    webhook_configs: [{ url: "${webhook.url}/hook" }]
    email_configs: [{ to: sre@lab.example, from: gpulse@lab.example, smarthost: "127.0.0.1:${mail.port}", require_tls: false }]
`,
);
afterAll(async () => {
  await Promise.all([webhook.close(), mail.close()]);
  await rm(folder, { recursive: true, force: true });
});

describeInBrowser(
  "an alert from a chart",
  {
    source: "sim:2",
    more: ["--evaluation-interval", "1s", "--alertmanager-config", routing],
    timeoutMs: 90_000,
  },
  (suite) => {
    test("the threshold is dragged, a bad rule is refused, channels deliver, a good one fires and is edited", async () => {
      const url = `${suite.up.url}explore?expr=gpu_power_watts&range=5m`;
      const { page, complaints } = await openPage(suite.browser, url, {}, ".chart canvas");
      await page.getByRole("button", { name: "Menu of gpu_power_watts" }).click();
      await page.getByRole("menuitem", { name: "Create alert" }).click();
      const slider = page.getByRole("slider", { name: "Threshold" });
      await slider.waitFor();
      const value = async (): Promise<number> => Number(await slider.getAttribute("aria-valuenow"));
      const first = await value();
      await slider.press("ArrowDown");
      await expect.poll(value).toBeLessThan(first);
      const box = await slider.boundingBox();
      if (box === null) throw new Error("BUG: the threshold is not in view");
      await page.mouse.move(box.x + 40, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + 40, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await expect.poll(value).toBeLessThan(first);
      await page.getByText(/It would (not )?have fired/).waitFor();

      const field = (name: string) => page.getByLabel(name, { exact: true });
      await field("Threshold").last().fill("1");
      await field("For").selectOption("0s");
      await field("Message").fill("GPU {{ $labels.gpu");
      await field("Name").fill("PowerNow");
      await page.getByRole("button", { name: "Save rule" }).click();
      await page.getByRole("alert").getByText("template").waitFor();
      await field("Message").fill("GPU {{ $labels.gpu }} draws power");
      await page.getByText("Goes to receiver team").waitFor();
      await page.getByRole("button", { name: "Send a test to team" }).click();
      await page
        .locator(".receivers")
        .getByText(
          /email: delivered[\s\S]*webhook: delivered|webhook: delivered[\s\S]*email: deliv/,
        )
        .waitFor();
      expect(webhook.requests.map(({ text }) => text)).toEqual([
        expect.stringContaining('"receiver":"team"'),
      ]);
      expect(mail.mails).toMatchObject([{ to: ["sre@lab.example"] }]);
      expect(await violationsOn(page)).toEqual([]);
      await page.getByRole("button", { name: "Save rule" }).click();
      await page.getByText("PowerNow is saved in version 1").waitFor();
      await page.getByRole("button", { name: "Delete rule" }).waitFor();

      const yaml = async () => (await fetch(`${suite.up.url}api/rules/own.yaml`)).text();
      expect(await yaml()).toContain("expr: gpu_power_watts > 1\n");
      await page.getByRole("link", { name: /alerts? firing$/ }).waitFor({ timeout: 60_000 });
      await expect.poll(() => page.title()).toMatch(/^\(\d+\) PowerNow · gpulse$/);
      await expect
        .poll(() => webhook.requests.map(({ text }) => text).join("\n"))
        .toContain("GPU 0 draws power");

      await page.getByRole("link", { name: "Edit rule" }).click();
      expect(await field("Message").inputValue()).toBe("GPU {{ $labels.gpu }} draws power");
      expect(await field("For").inputValue()).toBe("0s");
      expect(await value()).toBe(1);
      await field("Threshold").last().fill("2");
      await page.getByRole("button", { name: "Save rule" }).click();
      await page.getByText("PowerNow is saved in version 2").waitFor();
      expect(await yaml()).toContain("expr: gpu_power_watts > 2\n");
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "Export page rules" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("gpulse-rules.yml");
      expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
      await page.context().close();
    });

    test("every page counts the firing alerts in its header and title", async () => {
      const { page, complaints } = await openPage(suite.browser, suite.up.url);
      for (const name of pageNames) {
        await page.goto(`${suite.up.url}${name}`);
        const badge = page.getByRole("link", { name: /^\d+ alerts? firing$/ });
        await badge.waitFor();
        expect(Number(await badge.innerText()), name).toBeGreaterThan(0);
        await expect.poll(() => page.title()).toMatch(/^\([1-9]\d*\) .+ · gpulse$/);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  },
);
