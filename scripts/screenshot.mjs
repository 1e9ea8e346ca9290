// Creates the pictures in docs/images with the built program, a simulated fleet and a real Chromium, so that the documentation
// always shows the current pages. `npm run screenshot -- 240` waits 240 s instead of 300 for the graphs to fill; the comparison
// needs that long.

import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { bootstrap, root } from "./bootstrap.mjs";
import { PlainError, runMain, say, step } from "./progress.mjs";
import { captureTerminal } from "./terminal-page.mjs";

/** The length of the fleet page's sparklines. */
const FULL_HISTORY_SECONDS = 300;
/** Long enough for a busy machine. */
const START_MS = 180_000;
const PROGRAM = path.join(root, "bin", "gpulse");
const OUT = path.join(root, "docs", "images");
const MAX_BYTES = 150_000;
/** Contains everything that the hubs and agents write; removed at the end. */
const TEMP = mkdtempSync(path.join(tmpdir(), "gpulse-screenshot-"));
const newFolder = () => mkdtempSync(path.join(TEMP, "data-"));

/** Eight H200 in training, with faults that fire alerts within the first minutes. */
const FAULTS = `says: Eight H200 train; a fan stops, a GPU is lost, others report errors.
fleet: [{ model: H200, count: 8 }]
workloads: [{ gpus: all, run: training }]
faults:
  - { fault: fan-failure, gpu: 1, at: 0s, for: 1h }
  - { fault: gpu-lost, gpu: 4, at: 45s, for: 1h }
  - { fault: xid, gpu: 2, at: 60s, amount: 79 }
  - { fault: ecc-growth, gpu: 6, at: 0s, for: 1h, amount: 30 }
  - { fault: stuck-clocks, gpu: 7, at: 0s, for: 1h }
`;

/** All started processes; stopped at the end in any case. @type {import("node:child_process").ChildProcess[]} */
const children = [];

/** @typedef {{ url: string }} Hub */
/** @typedef {import("playwright-core").Page} Page */
/** @typedef {{ x: number, y: number, width: number, height: number }} Clip */

function findChromium() {
  /** @type {{ chromium: { programs: string[] } }} */
  const tools = JSON.parse(readFileSync(path.join(root, "engines", "tools.json"), "utf8"));
  const found = onPath(tools.chromium.programs);
  if (found === undefined || onPath(["pngquant"]) === undefined || onPath(["tmux"]) === undefined) {
    throw new PlainError(
      "the pictures need Chromium, pngquant and tmux (Debian: apt-get install chromium pngquant tmux).",
    );
  }
  return found;
}

/** @param {readonly string[]} names */
function onPath(names) {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const files = folders.flatMap((folder) => names.map((name) => path.join(folder, name)));
  return files.find((file) => existsSync(file));
}

/** @param {import("node:child_process").ChildProcess} child */
async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

/** @param {readonly string[]} args */
function gpulse(...args) {
  execFileSync(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "ignore", "inherit"] });
}

/**
 * @param {string} source
 * @param {string} hostName
 * @param {string} [dataFolder]
 * @returns {Promise<Hub>} once it serves
 */
async function startHub(source, hostName, dataFolder = newFolder()) {
  const own = ["--source", source, "--no-open", "--host-name", hostName];
  return (await serve("up", ...own, "--data", dataFolder)).hub;
}

/** @param {readonly string[]} command @returns {Promise<{ hub: Hub, child: import("node:child_process").ChildProcess }>} */
async function serve(...command) {
  const child = spawn(process.execPath, [PROGRAM, ...command, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const url = await new Promise((resolve, reject) => {
    let printed = "";
    const timer = setTimeout(() => reject(new PlainError("gpulse printed no address.")), START_MS);
    child.stdout.on("data", (chunk) => {
      printed += String(chunk);
      const found = /http:\/\/[\d.]+:\d+\//.exec(printed);
      if (found === null) return;
      clearTimeout(timer);
      resolve(found[0]);
    });
    child.once("exit", (code) => reject(new PlainError(`gpulse ended with exit code ${code}.`)));
  });
  return { hub: { url }, child };
}

/** Starts an agent that pushes to the hub. @param {Hub} hub @param {string} hostName */
function startAgent({ url }, hostName) {
  const spool = newFolder();
  const args = [PROGRAM, "agent", "--source", "sim:4", "--port", "0", "--push", url];
  args.push("--host-name", hostName, "--instance", `${hostName}:9400`, "--spool", spool);
  children.push(spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] }));
}

/**
 * A hub with the last 24 hours of the simulated GPUs it reads, so that the analytics page has data. They are written before it
 * reads them itself: two senders of one GPU at once are a warning on every page.
 * @param {string} source
 * @param {string} hostName
 * @returns {Promise<Hub>}
 */
async function startWithHistory(source, hostName) {
  const dataFolder = newFolder();
  const { hub, child } = await serve("hub", "--data", dataFolder);
  const start = new Date(Date.now() - 24 * 3_600_000).toISOString();
  const from = `${source}?speed=max&interval=30s&start=${start}&duration=1438m`;
  const to = `remote-write+${hub.url}api/v1/write`;
  const args = [PROGRAM, "pipe", "--from", from, "--to", to, "--host-name", hostName];
  await promisify(execFile)(process.execPath, args);
  await stop(child);
  return startHub(source, hostName, dataFolder);
}

/** Reduces a picture to 256 colours. @param {string} file */
function quantise(file) {
  execFileSync("pngquant", ["--force", "--skip-if-larger", "--speed", "1", "--output", file, file]);
  const { size } = statSync(file);
  if (size > MAX_BYTES) throw new PlainError(`${file} has ${size} bytes: crop it.`);
}

/**
 * @param {Page} page
 * @param {string} name
 * @param {Clip} [clip] the whole window if omitted
 */
async function take(page, name, clip) {
  await page.mouse.move(0, 0);
  await sleep(1_500);
  // Evaluated by the browser's own protocol: the page's policy forbids waitForFunction.
  const untilMs = performance.now() + START_MS;
  while (await page.evaluate("/(?:Loading|Reading)…/.test(document.body.innerText)")) {
    if (performance.now() > untilMs) throw new PlainError(`${name} did not load.`);
    await sleep(500);
  }
  const file = path.join(OUT, `${name}.png`);
  await page.screenshot({ path: file, ...(clip === undefined ? {} : { clip }) });
  quantise(file);
  say(`docs/images/${name}.png`);
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

/** Creates a report of simulated repeats on two cards, as one HTML file. @returns {string} its address */
function writeRunReport() {
  const folder = newFolder();
  for (const model of ["RX7800XT", "RX7700XT"]) {
    const source = `sim:?model=${model}`;
    gpulse("stress", "--source", source, "--folder", folder, "--for", "20s", "--warmup", "60s");
  }
  const runs = readdirSync(folder).map((name) => path.join(folder, name));
  const report = path.join(folder, "report.html");
  gpulse("compare", ...runs, "--html", report);
  return pathToFileURL(report).href;
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {"dark" | "light"} colorScheme
 * @param {number} [height]
 */
async function newPage(browser, colorScheme, height = 720) {
  const viewport = { width: 1280, height };
  return browser.newPage({
    viewport,
    deviceScaleFactor: 1.5,
    colorScheme,
    reducedMotion: "reduce",
  });
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {Hub} fleet
 */
async function takeFleet(browser, fleet) {
  for (const colorScheme of /** @type {const} */ (["dark", "light"])) {
    const page = await newPage(browser, colorScheme, 800);
    await page.goto(fleet.url);
    await page.locator("tbody .name").nth(1).click();
    await page.locator(".inspector").waitFor();
    await take(page, `fleet-${colorScheme}`);
    await page.close();
  }
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {{ fleet: Hub, stress: Hub, faults: Hub, lab: Hub, report: string }} from
 */
async function takePages(browser, { fleet, stress, faults, lab, report }) {
  const chart = ".chart .u-over";
  const light = await newPage(browser, "light");
  await light.goto(`${fleet.url}gpu?uuid=${(await uuidsOf(fleet.url))[2]}&range=5m`);
  await light.locator(chart).first().waitFor();
  await take(light, "gpu-light");
  const query = "avg by (gpu) (avg_over_time(gpu_power_watts[10m]))";
  await light.goto(`${lab.url}explore?range=6h&expr=${encodeURIComponent(query)}`);
  await light.locator(chart).first().waitFor();
  await take(light, "explore");
  await light.goto(`${lab.url}analytics?range=24h`);
  await light.locator("main table").first().waitFor();
  await take(light, "analytics");
  for (const name of ["gpu-node-3", "gpu-node-4"]) startAgent(lab, name);
  await sleep(15_000);
  await light.goto(`${lab.url}system`);
  await light.locator("main").getByText("gpu-node-4").first().waitFor({ timeout: START_MS });
  await take(light, "system", { x: 0, y: 0, width: 1280, height: 520 });
  await light.goto(report);
  await take(light, "run-report");
  await light.goto(`${faults.url}alerts`);
  await light.locator("main").getByText("GpuLost").first().waitFor();
  await take(light, "alerts");
  await light.goto(`${faults.url}alerts?tab=events&range=15m`);
  await take(light, "events", { x: 0, y: 0, width: 1280, height: 560 });
  // Tall enough for the performance per watt of both.
  const dark = await newPage(browser, "dark", 940);
  // The load begins after a minute, so the last three minutes are within it.
  await dark.goto(`${stress.url}compare?gpus=${(await uuidsOf(stress.url)).join()}&range=3m`);
  await dark.locator(chart).first().waitFor();
  await dark.locator(".compare-words li").first().waitFor();
  await take(dark, "compare-dark");
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {Hub} fleet
 */
async function takeTerminal(browser, fleet) {
  const top = [process.execPath, PROGRAM, "top", "--url", fleet.url];
  const page = await newPage(browser, "dark");
  const html = await captureTerminal(top, { columns: 110, rows: 34, waitMs: 20_000 });
  await page.setContent(html);
  const box = await page.locator("pre").boundingBox();
  if (box === null) throw new PlainError("gpulse top left an empty screen.");
  await page.setViewportSize({ width: Math.ceil(box.width), height: Math.ceil(box.height) });
  await take(page, "top");
}

await runMain(async () => {
  const waitSeconds = Number(process.argv[2] ?? FULL_HISTORY_SECONDS);
  if (!(waitSeconds >= 0)) throw new PlainError(`${process.argv[2]} is no number of seconds.`);
  const executablePath = findChromium();
  await bootstrap();
  mkdirSync(OUT, { recursive: true });
  const scenario = path.join(newFolder(), "faults.yaml");
  writeFileSync(scenario, FAULTS);
  const { chromium } = await import("playwright-core");
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  args.push("--disable-background-networking");
  const browser = await chromium.launch({ executablePath, args });
  try {
    const fleet = await startHub("sim:8", "gpu-node-1");
    const stress = await startHub("sim:?scenario=stress", "desk");
    const faults = await startHub(`sim:?scenario=${scenario}`, "gpu-node-2");
    const startedMs = performance.now();
    const lab = await step("writing a day of history", () => startWithHistory("sim:2", "lab"));
    const report = await step("recording runs", async () => writeRunReport());
    const leftMs = waitSeconds * 1_000 - (performance.now() - startedMs);
    await step(`waiting ${Math.max(0, Math.round(leftMs / 1_000))} s`, () =>
      sleep(Math.max(0, leftMs)),
    );
    await step("taking the pictures", async () => {
      await takeFleet(browser, fleet);
      await takePages(browser, { fleet, stress, faults, lab, report });
      await takeTerminal(browser, fleet);
    });
  } finally {
    await browser.close();
    await Promise.all(children.map(stop));
    rmSync(TEMP, { recursive: true, force: true });
  }
});
