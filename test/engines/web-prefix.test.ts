/** The page behind a real nginx under a path prefix, a common setup: everything works, and no request leaves the prefix. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { openBrowser, openPage } from "../web/browser.ts";
import { type RunningUp, startUp } from "../web/up.ts";

const [chromium, nginx] = [findTool("chromium"), findTool("nginx")];
const missing = [chromium, nginx].flatMap((tool) => ("missing" in tool ? [tool.missing] : []));
const skipped = missing.length > 0 ? ` (skipped: ${missing.join(", ")})` : "";
const PREFIX = "/lab/gpus/";

describe.skipIf(missing.length > 0)(
  `the page under a path behind nginx${skipped}`,
  { timeout: 60_000 },
  () => {
    let up: RunningUp;
    let proxy: RunningProcess;
    let browser: Browser;
    let base = "";
    let origin = "";

    beforeAll(async () => {
      await ensureBuild();
      up = await startUp(await freePort());
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      base = origin + PREFIX;
      proxy = await startProxy("path" in nginx ? nginx.path : "", port, up.url);
      await proxy.waitForUrl(`${base}-/ready`);
      browser = await openBrowser("path" in chromium ? chromium.path : "");
    }, 300_000);
    afterAll(async () => {
      await browser.close();
      await proxy.stop();
      await up.process.stop();
    });

    const open = async (address = "", ready?: string) => {
      const asked: string[] = [];
      const opened = await openPage(browser, base + address, {}, ready);
      opened.page.on("request", (request) => asked.push(request.url()));
      return { ...opened, asked };
    };

    test("the fleet is live by events through the proxy", async () => {
      const { page, complaints, strangers } = await open();
      expect(await page.locator(".live-state").innerText()).toContain("Live");
      const power = async () => (await page.locator("td.c-power").allInnerTexts()).join();
      const before = await power();
      await expect.poll(power, { timeout: 20_000 }).not.toBe(before);
      expect(complaints).toEqual([]);
      expect(strangers).toEqual([]);
      await page.context().close();
    });

    test("every page opens by link and by reload, asks only below the path, and draws its charts", async () => {
      const { page, complaints, asked } = await open();
      for (const name of ["GPU", "Compare", "Alerts", "Explore", "Analytics", "System", "Fleet"]) {
        await page.locator(".nav").getByRole("link", { name, exact: true }).click();
        const slug = name.toLowerCase();
        await page.waitForSelector(`main[data-page="${slug}"] > *`);
        expect(new URL(page.url()).pathname).toBe(PREFIX + (slug === "fleet" ? "" : slug));
        await page.reload();
        await page.waitForSelector(`main[data-page="${slug}"] > *`);
      }
      await page.goto(`${base}gpu?range=5m`);
      await page.waitForSelector(".chart .u-over");
      expect(asked.length).toBeGreaterThan(20);
      expect(asked.filter((url) => !url.startsWith(base) && !/^(?:data|blob):/.test(url))).toEqual(
        [],
      );
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("what changes something is let through as coming from the page itself", async () => {
      const { page } = await open();
      const status = await page.evaluate<number>(
        `fetch("api/v2/silences", { method: "POST", headers: { "content-type": "application/json" },
          body: JSON.stringify({ matchers: [{ name: "alertname", value: "None", isRegex: false, isEqual: true }],
            startsAt: new Date().toISOString(), endsAt: new Date(Date.now() + 60000).toISOString(),
            createdBy: "prefix", comment: "test" }) }).then(({ status }) => status)`,
      );
      expect(status).toBe(200);
      await page.context().close();
    });

    test("the policy allows no script but the hub's own files, and the browser holds to it", async () => {
      const { page } = await open();
      const answer = await page.request.get(base);
      const policy = answer.headers()["content-security-policy"] ?? "";
      const scripts = policy.split(";").find((part) => part.trim().startsWith("script-src"));
      const html = await answer.text();
      expect(scripts?.trim()).toBe("script-src 'self'");
      expect(policy).not.toContain("unsafe");
      expect(html).not.toMatch(
        /<script(?![^>]*\s(?:src=|type="application\/json"))|\son[a-z]+=|style="/,
      );
      const refused = (what: string) =>
        page.evaluate<string>(`new Promise((resolve) => {
          addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true });
          setTimeout(() => resolve("nothing was refused"), 3000);
          ${what}
        })`);
      const inline = `const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);`;
      expect(await refused(inline)).toBe("script-src-elem");
      expect(await page.evaluate<boolean>("window.ran === true")).toBe(false);
      // The hub without the proxy is another origin, to which the page may not connect either.
      expect(await refused(`fetch(${JSON.stringify(up.url)}).catch(() => undefined);`)).toBe(
        "connect-src",
      );
      await page.context().close();
    });
  },
);

async function startProxy(program: string, port: number, hub: string): Promise<RunningProcess> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-nginx-"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(" ");
  const file = path.join(folder, "nginx.conf");
  // Plain proxying without tuning for event streams: the hub's own headers prevent nginx from buffering them.
  await writeFile(
    file,
    `daemon off; pid ${folder}/pid; error_log stderr; events {}
     http { access_log off; ${temporary}
       server { listen 127.0.0.1:${port};
         location ${PREFIX} { proxy_pass ${hub}; proxy_http_version 1.1; proxy_set_header Host $http_host; } } }`,
  );
  return startProcess(program, ["-c", file, "-p", folder, "-e", "stderr"], { name: "nginx" });
}
