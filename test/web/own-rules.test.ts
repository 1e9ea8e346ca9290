/** A rule created from a chart in a real browser: the threshold is moved, backtested, saved, and counted in every header. */
import { expect, test } from "vitest";
import { violationsOn } from "./accessible.ts";
import { openPage } from "./browser.ts";
import { describeInBrowser } from "./suite.ts";

describeInBrowser(
  "an alert from a chart",
  { source: "sim:2", more: ["--evaluation-interval", "1s"], timeoutMs: 90_000 },
  (suite) => {
    test("the threshold is moved by keys and pointer, a bad rule is refused, a good one fires", async () => {
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
      await page.getByText("Goes to receiver").waitFor();
      expect(await violationsOn(page)).toEqual([]);
      await page.getByRole("button", { name: "Save rule" }).click();
      await page.getByText("PowerNow is saved").waitFor();
      await page.getByRole("button", { name: "Delete rule" }).waitFor();

      const yaml = await (await fetch(`${suite.up.url}api/rules/own.yaml`)).text();
      expect(yaml).toContain("expr: gpu_power_watts > 1\n");
      await page.getByRole("link", { name: /alerts? fires?$/ }).waitFor({ timeout: 60_000 });
      await expect.poll(() => page.title()).toMatch(/^\(\d+\) PowerNow · gpulse$/);
      expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
      await page.context().close();
    });
  },
);
