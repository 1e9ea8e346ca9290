// The accelerated part of a soak test: 32 hours of a simulated fleet, as fast as possible, into a separate hub that seals them
// into blocks and evaluates rules; then the same data with a shorter retention. Nothing may be lost or leak: judged by the memory
// in use after a collection. Other memory of the process is for reuse, and reported.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import path from "node:path";

import { hubProgram, startHub } from "../../engines/hub.ts";
import { repository } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { Engine } from "./ask.ts";
import { afterWarmUp, grows, leaks, type Point, type Trend, trendOf } from "./trend.ts";
import { processTree, usageOf } from "./usage.ts";

const HOUR_MS = 3_600_000;
/** Short enough that a block that contains all of it must be rewritten. */
const KEPT_HOURS = 8;
/** The whole process, including memory retained by V8 and malloc: a coarse check for memory outside JavaScript. */
const LEAST_BYTES = 40e6;
/** Memory in use. The series of ever new workloads take about 0.05 MB an hour until their retention ends. */
const LEAK_BYTES_PER_HOUR = 0.5e6;

export interface VirtualOptions {
  readonly dataDir: string;
  readonly hours: number;
  readonly stepSeconds: number;
  readonly onHour?: (hour: number, pssBytes: number) => void;
}

export interface VirtualVerdict {
  readonly hours: number;
  readonly samples: number;
  readonly expectedPerGpu: number;
  readonly keptPerGpu: number;
  /** Memory in use after a collection. */
  readonly live: Trend | undefined;
  /** PSS of the process. */
  readonly memory: Trend | undefined;
  readonly files: Trend | undefined;
  /** Age of the oldest sample after the retention was shortened. */
  readonly oldestHours: number | undefined;
  readonly rules: number;
  readonly problems: readonly string[];
}

interface Line {
  readonly time: string;
  readonly readings: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly value?: number | null;
  }[];
}

export async function soakVirtual(options: VirtualOptions): Promise<VirtualVerdict> {
  const { hours, stepSeconds } = options;
  const folder = await mkdtemp(path.join(options.dataDir, "soak-"));
  const dataDir = path.join(folder, "hub");
  const rules = ["*.yml", "stack/*.yml"].map(
    (name) => `--rules=${path.join(repository, "deploy/prometheus/rules", name)}`,
  );
  const liveFile = path.join(folder, "live-memory");
  let hub = await startHub({
    dataDir,
    args: rules,
    under: ["env", `NODE_OPTIONS=--import=${liveProbe}`, `GPULSE_SOAK_MEMORY=${liveFile}`],
  });
  try {
    const endMs = Math.floor(Date.now() / 60_000) * 60_000;
    const startMs = endMs - hours * HOUR_MS;
    const [live, memory, files]: [Point[], Point[], Point[]] = [[], [], []];
    let [samples, hour] = [0, 0];
    for await (const batch of virtualHours(startMs, hours, stepSeconds)) {
      samples += await push(hub.url, batch);
      hour++;
      const usage = usageOf(hub.process.pid, processTree());
      if (usage === undefined) continue;
      memory.push({ x: hour, y: usage.pssBytes });
      files.push({ x: hour, y: usage.openFiles });
      live.push({ x: hour, y: await liveBytes(hub.process.pid, liveFile) });
      options.onHour?.(hour, usage.pssBytes);
    }
    const engine = new Engine(hub.url);
    const keptPerGpu = (await engine.number(`min(count_over_time(gpu_up[${hours + 2}h]))`)) ?? 0;
    const { rules: ruleCount, failing } = await engine.ruleCount();
    await hub.stop();
    hub = await startHub({ dataDir, args: [...rules, `--retention=${KEPT_HOURS}h`] });
    const oldestHours = await oldest(hub.url, hours);
    const [ofLive, ofMemory, ofFiles] = [live, memory, files].map((points) =>
      trendOf(afterWarmUp(points)),
    );
    const expectedPerGpu = (hours * 3_600) / stepSeconds;
    return {
      hours,
      samples,
      expectedPerGpu,
      keptPerGpu,
      live: ofLive,
      memory: ofMemory,
      files: ofFiles,
      oldestHours,
      rules: ruleCount,
      problems: [
        ...failing.map((one) => `a rule fails: ${one}`),
        ...(keptPerGpu < expectedPerGpu
          ? [`${expectedPerGpu - keptPerGpu} of ${expectedPerGpu} instants are missing`]
          : []),
        // A check with too few measurements must not pass.
        ...(ofLive === undefined ? ["the hub's memory in use was measured too few times"] : []),
        ...(leaks(live, LEAK_BYTES_PER_HOUR)
          ? [`the hub's memory in use grows by ${((ofLive?.perHour ?? 0) / 1e6).toFixed(2)} MB/h`]
          : []),
        ...(ofMemory !== undefined && grows(ofMemory, LEAST_BYTES, 0.5)
          ? ["the hub's process grows"]
          : []),
        ...(ofFiles !== undefined && grows(ofFiles, 20, 0.5) ? ["the hub's open files grow"] : []),
        ...(oldestHours === undefined || oldestHours > KEPT_HOURS + 4
          ? [`a retention of ${KEPT_HOURS} h left ${oldestHours ?? "no"} hours`]
          : []),
      ],
    };
  } finally {
    await hub.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const liveProbe = new URL("../../scripts/live-memory.mjs", import.meta.url).href;

/** Makes the hub collect garbage and reads the remaining size. */
async function liveBytes(pid: number, file: string): Promise<number> {
  await rm(file, { force: true });
  process.kill(pid, "SIGUSR2");
  return waitUntil({ what: "the hub to collect garbage", timeoutMs: 60_000 }, async () => {
    const text = await readFile(file, "utf8").catch(() => "");
    return text === "" ? undefined : Number(text);
  });
}

/** Expired data is removed a whole block at a time, some moments after the start. */
async function oldest(url: string, hours: number): Promise<number | undefined> {
  const engine = new Engine(url);
  const ask = (): Promise<number | undefined> =>
    engine.number(`max(count_over_time((gpu_up{gpu="0"} > 0)[${hours + 2}h:10m])) / 6`);
  try {
    return await waitUntil({ what: "old blocks to go", timeoutMs: 60_000 }, async () => {
      const found = await ask();
      return found !== undefined && found <= KEPT_HOURS + 4 ? found : undefined;
    });
  } catch {
    return ask();
  }
}

/** Frames of a simulated fleet with virtual times, an hour at a time. */
async function* virtualHours(
  startMs: number,
  hours: number,
  stepSeconds: number,
): AsyncGenerator<readonly Line[]> {
  const source = `sim:8?speed=max&seed=7&start=${new Date(startMs).toISOString()}&duration=${hours}h&interval=${stepSeconds}s`;
  const child = spawn(
    process.execPath,
    [hubProgram, "pipe", "--from", source, "--host-name=soak"],
    {
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  const ended = once(child, "close");
  try {
    let [lines, untilMs]: [Line[], number] = [[], startMs + HOUR_MS];
    for await (const text of createInterface({ input: child.stdout })) {
      const line = JSON.parse(text) as Line;
      if (Date.parse(line.time) >= untilMs) {
        yield lines;
        [lines, untilMs] = [[], untilMs + HOUR_MS];
      }
      lines.push(line);
    }
    yield lines;
    await ended;
  } finally {
    child.kill("SIGKILL");
  }
}

async function push(url: string, lines: readonly Line[]): Promise<number> {
  let sent = 0;
  for (let from = 0; from < lines.length; from += 40) {
    const metrics = lines
      .slice(from, from + 40)
      .flatMap(({ time, readings }) =>
        readings.flatMap(({ name, labels, value }) =>
          typeof value === "number" ? [{ name, labels, value, time: Date.parse(time) / 1000 }] : [],
        ),
      );
    const response = await fetch(`${url}/push`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ job: "gpu", instance: "soak", metrics }),
    });
    if (!response.ok) throw new Error(`/push answers ${response.status}: ${await response.text()}`);
    sent += metrics.length;
  }
  return sent;
}
