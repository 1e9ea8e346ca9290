/**
 * One hub under load and beyond its capacity: `npm run load`. Agents of 10,000 simulated GPUs, 200 dashboards and as many pages
 * beside them, 1,000 scrape targets. Prints tables with ratios, and writes every value to dist/load.json.
 * LOAD_SCALE=0.1 uses a tenth of everything, LOAD_ONLY=agents, readers or targets runs one part, LOAD_SECONDS is the duration of
 * a step.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningHub, startHub } from "../engines/hub.ts";
import { startPushAgent } from "../engines/push.ts";
import { waitUntil } from "../engines/wait.ts";
import { grouped, mib, ms, number, quantile, say } from "./hub-print.ts";
import { gpusPerHost } from "./load-host.ts";
import { LoadFleet, makeTokens } from "./load-fleet.ts";
import { LoadReaders } from "./load-readers.ts";
import { seriesPerTarget, startTargets } from "./load-targets.ts";
import { HubWatch, type LoadFigures, valueOf } from "./load-watch.ts";

const scale = Number(process.env["LOAD_SCALE"] ?? "1");
const only = process.env["LOAD_ONLY"];
const stepSeconds = Number(process.env["LOAD_SECONDS"] ?? "30");
const hosts = Math.max(8, Math.round(1_250 * scale));
const people = Math.max(4, Math.round(200 * scale));
const targetCount = Math.max(10, Math.round(1_000 * scale));
/** On a small machine senders and hub share its cores; on a larger one the hub has its own. */
const senderProcesses = Math.max(2, Math.min(8, availableParallelism() - 4));

/** Every value, by part and step. */
const figures: Record<string, unknown> = { hosts, gpus: hosts * gpusPerHost, people, targetCount };
// A machine's spool is on its own disk: a thousand spools on this one would measure the disk.
const shared = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const folder = mkdtempSync(path.join(shared, "gpulse-load-"));
const stops: (() => Promise<unknown>)[] = [];

function row(cells: readonly (string | number)[]): void {
  say(`| ${cells.join(" | ")} |`);
}

function head(title: string, columns: readonly string[]): void {
  say(`\n### ${title}\n`);
  row(columns);
  row(columns.map(() => "---"));
}

const ratio = (value: number, base: number): string => `${number(value / base)}×`;
const cores = ({ cpuSeconds, seconds }: LoadFigures): string => (cpuSeconds / seconds).toFixed(2);
const shedText = ({ shed }: LoadFigures): string =>
  Object.entries(shed)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${grouped(count)} ${what}`)
    .join(", ") || "none";

async function watch(hub: RunningHub, seconds: number): Promise<LoadFigures> {
  const watching = new HubWatch(hub.url, hub.process.pid);
  await sleep(seconds * 1_000);
  return watching.end();
}

async function agents(hub: RunningHub, tokens: readonly string[]): Promise<void> {
  const unloaded = await watch(hub, 5);
  figures["unloaded"] = unloaded;
  const fleet = new LoadFleet({
    hubUrl: hub.url,
    hosts,
    processes: senderProcesses,
    spoolDir: path.join(folder, "spool"),
    tokens,
    intervalMs: 15_000,
  });
  stops.push(() => fleet.stop());
  await fleet.ready();
  head(`${grouped(hosts * gpusPerHost)} GPUs on ${grouped(hosts)} hosts push to one hub`, [
    "each host every",
    "samples/s acknowledged",
    "cores",
    "processor s a million samples",
    "resident",
    "longest wait of a frame",
    "asked to retry",
    "`/-/healthy` median, to unloaded",
  ]);
  for (const [name, intervalMs] of [
    ["15 s, first minute", 15_000],
    ["15 s", 15_000],
    ["5 s", 5_000],
    ["1 s", 1_000],
    ["0.25 s", 250],
  ] as const) {
    fleet.pace(intervalMs);
    const before = fleet.now.sent;
    const seen = await watch(hub, name.includes("first") ? Math.max(20, stepSeconds) : stepSeconds);
    const { sent, lagSeconds, problems } = fleet.now;
    const samples = sent - before;
    figures[`agents ${name}`] = { ...seen, samples, lagSeconds, agentProblems: problems };
    row([
      name,
      grouped(Math.round(samples / seen.seconds)),
      cores(seen),
      number((seen.cpuSeconds / samples) * 1e6),
      mib(seen.residentBytes),
      `${number(lagSeconds)} s`,
      shedText(seen),
      ratio(seen.healthyMedianMs, unloaded.healthyMedianMs),
    ]);
  }
  fleet.pace(0);
  const settledSeconds = await fleet.settle();
  const after = await watch(hub, 5);
  const reported = fleet.now;
  const kept = await valueOf(hub.url, `sum(count_over_time(gpu_power_watts{host=~"load-.*"}[1h]))`);
  const pending = reported.ticks * gpusPerHost;
  figures["agents after"] = { ...after, settledSeconds, reported, kept, pending };
  say(
    `\nAfter the load: what waited was taken in ${number(settledSeconds)} s. Of ${grouped(reported.written)} samples ${grouped(reported.sent)} were acknowledged, ${reported.refused + reported.dropped} lost; of ${grouped(pending)} readings of power ${grouped(kept)} are read back. Resident ${mib(after.residentBytes)}, \`/-/healthy\` ${ratio(after.healthyMedianMs, unloaded.healthyMedianMs)} of unloaded.`,
  );
  if (reported.refused + reported.dropped > 0 || kept !== pending) process.exitCode = 1;
}

async function witnesses(hub: RunningHub, tokens: readonly string[]): Promise<void> {
  for (let at = 0; at < 2; at++) {
    const agent = await startPushAgent({
      hostName: `witness-${at}`,
      source: "sim:8",
      spool: path.join(folder, `witness-${at}`),
      args: [`--push=${hub.url}`, `--token=${tokens[hosts + at]}`],
    });
    stops.push(() => agent.stop());
  }
}

async function readers(hub: RunningHub): Promise<void> {
  const many = new LoadReaders({ hubUrl: hub.url, hosts, prefix: "load" });
  stops.push(() => many.stop());
  await many.ready();
  head(`Dashboards and pages on the hub with ${grouped(hosts * gpusPerHost)} GPUs`, [
    "",
    "queries/s answered",
    "median, to one alone",
    "p99, to one alone",
    "cores",
    "resident",
    "asked to retry",
    "failed",
    "pages open",
    "frames a page and second",
  ]);
  let base: { readonly median: number; readonly p99: number } | undefined;
  for (const [name, dashboards, refreshMs, pages] of [
    ["one dashboard", 1, 1_000, 0],
    [`${people} dashboards every 30 s`, people, 30_000, 0],
    [`and ${people} pages`, people, 30_000, people],
    [`${people} dashboards every 5 s, ${people} pages`, people, 5_000, people],
    [`${people * 2} dashboards without pause, ${people * 4} pages`, people * 2, 0, people * 4],
    ["one dashboard again", 1, 1_000, 0],
  ] as const) {
    many.set({ dashboards, refreshMs, pages });
    const seen = await watch(hub, stepSeconds);
    const reported = many.now;
    const [median, p99] = [
      quantile(reported.latenciesMs, 0.5),
      quantile(reported.latenciesMs, 0.99),
    ];
    base ??= { median, p99 };
    const { latenciesMs: _latencies, ...counts } = reported;
    figures[`readers ${name}`] = { ...seen, ...counts, medianMs: median, p99Ms: p99 };
    row([
      name,
      number(reported.answered / seen.seconds),
      `${ms(median)}, ${ratio(median, base.median)}`,
      `${ms(p99)}, ${ratio(p99, base.p99)}`,
      cores(seen),
      mib(seen.residentBytes),
      shedText(seen),
      reported.failed,
      reported.pagesOpen,
      reported.pagesOpen === 0
        ? ""
        : number(reported.pageEvents / seen.seconds / reported.pagesOpen),
    ]);
  }
}

async function targets(): Promise<void> {
  const served = await startTargets();
  stops.push(() => served.stop());
  const file = path.join(folder, "prometheus.yml");
  head(`Targets of ${seriesPerTarget} series each`, [
    "",
    "samples/s due",
    "of them kept",
    "cores",
    "processor s a million samples",
    "resident",
    "`up`",
    "`/-/healthy` median",
  ]);
  for (const [count, intervalSeconds] of [
    [targetCount, 15],
    [targetCount, 5],
    [targetCount, 1],
    [targetCount * 4, 1],
    [targetCount, 15],
  ] as const) {
    served.configure(file, count, intervalSeconds);
    const hub = await startHub({
      dataDir: path.join(folder, `scrape-${count}-${intervalSeconds}-${stops.length}`),
      args: [`--prometheus-config=${file}`],
    });
    stops.push(() => hub.stop());
    await sleep(Math.max(5, intervalSeconds + 2) * 1_000);
    const stored = async (): Promise<number> => {
      const page = await (await fetch(`${hub.url}/metrics`)).text();
      const found = /^gpulse_received_samples_total\{outcome="stored",way="scrape"\} (\d+)$/m;
      return Number(found.exec(page)?.[1]);
    };
    const before = await stored();
    const seen = await watch(hub, Math.max(stepSeconds, intervalSeconds * 2));
    const kept = (await stored()) - before;
    // Each scrape adds five series to those of the page.
    const due = ((seriesPerTarget + 5) * count * seen.seconds) / intervalSeconds;
    const up = await valueOf(hub.url, "sum(up)");
    figures[`targets ${count} every ${intervalSeconds} s ${stops.length}`] = {
      ...seen,
      kept,
      due,
      up,
    };
    row([
      `${grouped(count)} every ${intervalSeconds} s`,
      grouped(Math.round(due / seen.seconds)),
      `${((kept / due) * 100).toFixed(0)} %`,
      cores(seen),
      number((seen.cpuSeconds / kept) * 1e6),
      mib(seen.residentBytes),
      grouped(up),
      ms(seen.healthyMedianMs),
    ]);
    await hub.stop();
  }
}

try {
  if (only !== "targets") {
    const dataDir = path.join(folder, "hub");
    const tokens = makeTokens(dataDir, hosts + 2);
    const hub = await startHub({ dataDir });
    stops.push(() => hub.stop());
    await witnesses(hub, tokens);
    await agents(hub, tokens);
    await waitUntil({ what: "the witnesses to be heard", timeoutMs: 60_000 }, async () =>
      (await valueOf(hub.url, 'count(gpu_up{host=~"witness-.*"})')) === 16 ? true : undefined,
    );
    if (only !== "agents") await readers(hub);
    say(
      `\nWhat the hub said:\n\n${hub.process
        .output()
        .split("\n")
        .filter((line) => /asked|again/.test(line))
        .slice(-6)
        .join("\n")}`,
    );
  }
  if (only === undefined || only === "targets") await targets();
} finally {
  for (const stop of stops.reverse()) await stop();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync("dist", { recursive: true });
  writeFileSync("dist/load.json", `${JSON.stringify(figures, undefined, 2)}\n`);
}
