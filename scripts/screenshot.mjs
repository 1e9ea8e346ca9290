// Makes the pictures in docs/images by running the built program with a simulated fleet and a real Chromium, so that
// the README never shows what the page no longer looks like. `npm run screenshot -- 60` waits 60 s instead of 300.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { bootstrap, root } from "./bootstrap.mjs";
import { PlainError, runMain, say, step } from "./progress.mjs";

/** As long as the page's curves are. */
const FULL_HISTORY_SECONDS = 300;
const START_MS = 60_000;
const OUT = path.join(root, "docs", "images");
/** @type {string[]} */
const taken = [];

function findChromium() {
  /** @type {{ chromium: { programs: string[] } }} */
  const tools = JSON.parse(readFileSync(path.join(root, "engines", "tools.json"), "utf8"));
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    const files = tools.chromium.programs.map((name) => path.join(folder, name));
    const found = files.find((file) => existsSync(file));
    if (found !== undefined) return found;
  }
  throw new PlainError("no Chromium on the path: install it (Debian: apt-get install chromium).");
}

/**
 * @param {string} source
 * @param {string} hostName
 * @returns {Promise<{ url: string, stop: () => void }>}
 */
async function startFleet(source, hostName) {
  const args = [
    path.join(root, "bin", "gpulse"),
    "up",
    "--source",
    source,
    "--port",
    "0",
    "--no-open",
    "--host-name",
    hostName,
    "--data",
    mkdtempSync(path.join(tmpdir(), "gpulse-screenshot-")),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const stop = () => void child.kill("SIGTERM");
  const url = await new Promise((resolve, reject) => {
    let printed = "";
    const timer = setTimeout(
      () => reject(new PlainError("gpulse up printed no address.")),
      START_MS,
    );
    child.stdout.on("data", (chunk) => {
      printed += String(chunk);
      const found = /http:\/\/[\d.]+:\d+\//.exec(printed);
      if (found === null) return;
      clearTimeout(timer);
      resolve(found[0]);
    });
    child.once("exit", (code) => reject(new PlainError(`gpulse up ended with exit code ${code}.`)));
  });
  return { url, stop };
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} name
 */
async function take(page, name) {
  await page.mouse.move(0, 0);
  await sleep(1_500);
  await page.screenshot({ path: path.join(OUT, `${name}.png`) });
  taken.push(`docs/images/${name}.png`);
}

/**
 * @param {string} url
 * @returns {Promise<string[]>}
 */
async function uuidsOf(url) {
  const fleet = /** @type {{ devices: { uuid: string }[] }} */ (
    await (await fetch(`${url}api/fleet`)).json()
  );
  return fleet.devices.map(({ uuid }) => uuid);
}

/**
 * @param {string} executablePath
 * @param {string} url
 * @param {string} stressUrl two cards under the same counted load, for the comparison
 */
async function takePictures(executablePath, url, stressUrl) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
    ],
  });
  try {
    for (const colorScheme of /** @type {const} */ (["dark", "light"])) {
      const page = await browser.newPage({
        viewport: { width: 1440, height: 900 },
        deviceScaleFactor: 1.5,
        colorScheme,
        reducedMotion: "reduce",
      });
      await page.goto(url);
      await page.locator("tbody .name").nth(1).click();
      await page.locator(".inspector").waitFor();
      await take(page, `fleet-${colorScheme}`);
      await page.goto(`${url}gpu?uuid=${(await uuidsOf(url))[2]}&range=5m`);
      await page.locator(".chart .u-over").first().waitFor();
      await take(page, `gpu-${colorScheme}`);
      // The load begins after a minute: three minutes lie within it.
      await page.goto(`${stressUrl}compare?gpus=${(await uuidsOf(stressUrl)).join()}&range=3m`);
      await page.locator(".chart .u-over").first().waitFor();
      await page.locator(".compare-words li").first().waitFor();
      await take(page, `compare-${colorScheme}`);
      await page.close();
    }
  } finally {
    await browser.close();
  }
}

await runMain(async () => {
  const waitSeconds = Number(process.argv[2] ?? FULL_HISTORY_SECONDS);
  if (!(waitSeconds >= 0)) throw new PlainError(`${process.argv[2]} is no number of seconds.`);
  const executablePath = findChromium();
  await bootstrap();
  mkdirSync(OUT, { recursive: true });
  const fleet = await startFleet("sim:8", "gpu-node-1");
  const stress = await startFleet("sim:?scenario=stress", "desk");
  try {
    await step(`letting the fleets run for ${waitSeconds} s`, () => sleep(waitSeconds * 1_000));
    await step("taking the pictures", () => takePictures(executablePath, fleet.url, stress.url));
  } finally {
    fleet.stop();
    stress.stop();
  }
  say(taken.join(", "));
});
