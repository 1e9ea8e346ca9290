/** Access control in a real browser: log in, share a view, open it as a guest, have access revoked, log out. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { openBrowser, openPage } from "./browser.ts";
import { type RunningUp, startUp } from "./up.ts";
import { layoutFaults } from "./layouts.ts";

const chromium = findTool("chromium");
const skipped = "missing" in chromium ? ` (skipped: ${chromium.missing})` : "";
const poll = { timeout: 60_000 };
const password = "correct horse battery";

describe.skipIf("missing" in chromium)(
  `access in a real browser${skipped}`,
  { timeout: 180_000 },
  () => {
    let up: RunningUp;
    let browser: Browser;
    let folder: string;
    beforeAll(async () => {
      await ensureBuild();
      folder = await mkdtemp(path.join(tmpdir(), "gpulse-access-page-"));
      const data = path.join(folder, "data");
      await writeFile(path.join(folder, "password"), `${password}\n`);
      const added = await runProcess(process.execPath, [
        hubProgram,
        "user",
        "add",
        "ada",
        "--role",
        "admin",
        "--password",
        `file:${path.join(folder, "password")}`,
        "--data",
        data,
      ]);
      if (added.code !== 0) throw new Error(added.stderr);
      up = await startUp(await freePort(), "sim:2", ["--data", data, "--auth", "always"]);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await up?.process.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const look = async (page: Page, name: string): Promise<void> => {
      expect(await layoutFaults(page, name), name).toEqual([]);
    };

    const openLogin = (at = "") => openPage(browser, `${up.url}${at}`, {}, 'input[name="name"]');
    const logIn = async (page: Page, name: string, secret = password): Promise<void> => {
      await page.getByLabel("User").fill(name);
      await page.getByLabel("Password or token").fill(secret);
      await page.getByRole("button", { name: "Log in" }).click();
    };
    const account = async (page: Page, item: string): Promise<void> => {
      await page.getByRole("button", { name: /^Account/ }).click();
      await page.getByRole("menuitem", { name: item, exact: true }).click();
    };

    test("the form refuses in words, lets in to the page asked for, and logging out ends it", async () => {
      const { page, strangers } = await openLogin("explore?expr=up");
      await look(page, "login");
      await logIn(page, "ada", "not the password");
      await expect
        .poll(() => page.getByRole("alert").innerText(), poll)
        .toBe("The user name or password is wrong.");
      await look(page, "login-refused");
      await logIn(page, "ada");
      await page.waitForSelector("header.top");
      expect(page.url()).toBe(`${up.url}explore?expr=up`);
      await account(page, "Log out");
      await page.waitForSelector('input[name="name"]');
      await page.goto(`${up.url}explore?expr=up`);
      await page.waitForSelector('input[name="name"]');
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("a view is shared, seen by a guest who can change nothing, and ends when it is revoked", async () => {
      const { page, complaints } = await openLogin("alerts?range=1h");
      await logIn(page, "ada");
      await page.waitForSelector("header.top");
      await account(page, "Share this view");
      await page.getByLabel("Name").fill("for the vendor");
      await look(page, "share-dialog");
      expect(await page.getByLabel("Keep showing this time").isChecked()).toBe(false);
      await page.getByRole("button", { name: "Create link" }).click();
      const shown = page.getByLabel("the link", { exact: true });
      await expect.poll(() => shown.innerText(), poll).toMatch(/\/share#gpulse_share_[\w-]{43}$/);
      const link = await shown.innerText();
      await page.getByRole("button", { name: "Done" }).click();

      const guest = await openPage(browser, link, {}, "header.top");
      await guest.page.waitForSelector('main[data-page="alerts"]');
      expect(guest.page.url()).toBe(`${up.url}alerts?range=1h`);
      await expect
        .poll(() => guest.page.locator(".notice").first().innerText(), poll)
        .toMatch(/^Shared view, read only\. for the vendor, ends 20\d\d-/);
      expect(await guest.page.getByRole("link", { name: "System" }).count()).toBe(0);
      expect(await guest.page.evaluate("history.length")).toBeLessThan(4);
      const status = (url: string, method = "GET") =>
        guest.page.evaluate<number>(
          `fetch(${JSON.stringify(url)}, { method: "${method}" }).then(({ status }) => status)`,
        );
      expect(await status("api/fleet")).toBe(200);
      expect(await status("api/tokens")).toBe(403);
      expect(await status("api/pipes")).toBe(403);
      expect(await status("-/reload", "POST")).toBe(403);
      await look(guest.page, "shared-view");

      await page.goto(`${up.url}system?tab=access`);
      const shares = page.getByRole("region", { name: "Shared links" });
      await expect.poll(() => shares.innerText(), poll).toMatch(/for the vendor[\s\S]*alerts/);
      expect(await page.content()).not.toContain(link.split("#")[1] ?? "nothing");
      await look(page, "system-access");
      await page.getByRole("button", { name: "Revoke for the vendor" }).click();
      await guest.page.waitForSelector('input[name="name"]', { timeout: 60_000 });
      await guest.page.goto(link);
      await expect
        .poll(() => guest.page.getByRole("alert").innerText(), poll)
        .toContain("has expired or was revoked");
      await guest.page.context().close();
      expect(complaints.filter((one) => !one.includes("401"))).toEqual([]);
      await page.context().close();
    });

    test("a guest opens a shared board with its chosen host, and may read it only", async () => {
      const { page } = await openLogin("boards");
      await logIn(page, "ada");
      await page.getByRole("button", { name: "New board" }).click();
      await page.getByRole("heading", { name: "GPUs that report" }).waitFor();
      const host = page.getByRole("combobox", { name: "host" });
      await expect.poll(() => host.locator("option").count(), poll).toBe(2);
      await host.selectOption({ index: 1 });
      await account(page, "Share this view");
      await page.getByRole("dialog").getByLabel("Name").fill("a board");
      await page.getByRole("button", { name: "Create link" }).click();
      const shown = page.getByLabel("the link", { exact: true });
      await expect.poll(() => shown.innerText(), poll).toMatch(/\/share#/);

      const { page: guest, complaints } = await openPage(
        browser,
        await shown.innerText(),
        {},
        ".board-panel",
      );
      expect(guest.url()).toBe(page.url());
      const count = guest.getByRole("figure", { name: "GPUs that report" }).locator("strong");
      await expect.poll(() => count.innerText(), poll).toBe("2");
      await guest.locator(".board .chart canvas").first().waitFor();
      expect(await guest.getByRole("button", { name: "Edit" }).count()).toBe(0);
      await guest.getByRole("button", { name: "More about this board" }).click();
      expect(await guest.getByRole("menuitem").allInnerTexts()).toEqual([
        "Copy link",
        "Export JSON",
      ]);
      const refused = await guest.evaluate<number>(
        `fetch("api/boards/new-board", { method: "DELETE" }).then(({ status }) => status)`,
      );
      expect(refused).toBe(403);
      await guest.keyboard.press("Escape");
      await guest.getByRole("link", { name: "TV mode" }).click();
      await guest.locator(".tv-line").first().waitFor();
      expect(complaints.filter((one) => !one.includes("403"))).toEqual([]);
      await guest.context().close();
      await page.context().close();
    });

    test("a shared link keeps the time that was on screen where that is chosen", async () => {
      const { page } = await openLogin("explore?expr=gpu_power_watts&range=1h");
      await logIn(page, "ada");
      await page.waitForSelector("header.top");
      await account(page, "Share this view");
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("as it was");
      await dialog.getByLabel("Keep showing this time").check();
      await page.getByRole("button", { name: "Create link" }).click();
      const shown = page.getByLabel("the link", { exact: true });
      await expect.poll(() => shown.innerText(), poll).toMatch(/\/share#/);
      const guest = await openPage(browser, await shown.innerText(), {}, "header.top");
      await guest.page.waitForSelector('main[data-page="explore"]');
      const params = new URL(guest.page.url()).searchParams;
      const [from, to] = ["from", "to"].map((name) => Date.parse(params.get(name) ?? ""));
      expect((to ?? 0) - (from ?? 0)).toBe(3_600_000);
      expect(params.get("range")).toBeNull();
      await guest.page.context().close();
      await page.context().close();
    });

    test("a viewer is added by an administrator, is offered no change, and is out when disabled", async () => {
      const { page } = await openLogin("system?tab=access");
      await logIn(page, "ada");
      await page.getByRole("button", { name: "Add a user" }).click();
      const form = page.getByRole("region", { name: "Add a user" });
      await form.getByLabel("Name").fill("grace");
      await form.getByLabel("Password").fill(password);
      await page.getByRole("button", { name: "Add the user" }).click();
      const users = page.getByRole("region", { name: "Users", exact: true });
      await expect.poll(() => users.innerText(), poll).toMatch(/grace[\s\S]*viewer/);

      const other = await openLogin("system?tab=pipes");
      await logIn(other.page, "grace");
      await other.page.waitForSelector('.page[data-may="look"]');
      expect(await other.page.getByRole("button", { name: "Add a pipe" }).count()).toBe(0);
      const { page: refused } = await openPage(browser, `${up.url}login`, {}, "form");
      await logIn(refused, "grace");
      await refused.waitForSelector("header.top");
      await refused.goto(`${up.url}api/users`);
      await expect
        .poll(() => refused.getByRole("alert").innerText(), poll)
        .toContain("This needs an administrator");
      await look(refused, "refused");
      await refused.context().close();

      await account(other.page, "Change my password");
      await other.page.getByLabel("Current password").fill(password);
      await other.page.getByLabel("New password").fill("another good one");
      await other.page.getByLabel("Repeat the password").fill("another good one");
      await other.page.getByRole("button", { name: "Change password" }).click();
      await expect
        .poll(() => other.page.locator(".toasts").innerText(), poll)
        .toContain("Your password is changed.");

      await page.getByRole("button", { name: "Disable: grace" }).click();
      await other.page.waitForSelector('input[name="name"]', { timeout: 60_000 });
      await logIn(other.page, "grace", "another good one");
      await expect
        .poll(() => other.page.getByRole("alert").innerText(), poll)
        .toBe("The user name or password is wrong.");
      await other.page.context().close();
      await account(page, "Log out everywhere");
      await page.waitForSelector('input[name="name"]');
      await page.context().close();
    });
  },
);
