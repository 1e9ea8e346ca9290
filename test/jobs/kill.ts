/** Kills a process that keeps the job ledger over and over, then compares every job with those of a ledger that never stopped. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { setTimeout as sleep } from "node:timers/promises";
import { launchHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { waitUntil } from "../../engines/wait.ts";
import { systemClock } from "../../src/base/clock.ts";
import { silentLog } from "../../src/base/log.ts";
import { HubJobs } from "../../src/hub/jobs/jobs.ts";
import { isClosed } from "../../src/runs/jobs/day-books.ts";
import { FrameTicks } from "../../src/runs/jobs/frame-ticks.ts";
import { Ledger } from "../../src/runs/jobs/ledger.ts";
import type { GpuTick } from "../../src/runs/jobs/tick.ts";
import type { JobRecord } from "../../src/runs/jobs/record.ts";
import { openHubSink } from "../../src/sinks/hub/open.ts";
import { deliveriesOf, deliveryAt } from "./deliveries.ts";

export interface KillResult {
  readonly kills: number;
  readonly jobs: number;
  readonly lost: number;
  readonly countedTwice: number;
  readonly different: number;
  readonly unclosedBooks: number;
}

/** Deliveries that are sent again after a kill, as an agent does whose acknowledgement got lost. */
const resent = 120;

export async function killLedger(jobs: number, kills: number, seed: number): Promise<KillResult> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-jobs-kill-"));
  try {
    const writer = path.join(folder, "writer.mjs");
    await build({
      entryPoints: [path.join(import.meta.dirname, "writer.ts")],
      outfile: writer,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      logLevel: "silent",
    });
    const dir = path.join(folder, "data");
    const total = deliveriesOf(jobs);
    let [state, acknowledged, killed] = [seed, -1, 0];
    for (; killed < kills; killed++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      // Evenly over the whole, so that there is work left for the last one.
      const untilAt = Math.floor((total * (killed + (state % 1_000) / 1_000)) / (kills + 1));
      const args = [writer, dir, String(Math.max(0, acknowledged - resent)), String(jobs)];
      const last = await runAndKill(args, untilAt);
      if (last === "done") break;
      acknowledged = Math.max(acknowledged, last);
    }
    const rest = [writer, dir, String(Math.max(0, acknowledged - resent)), String(jobs)];
    if ((await runAndKill(rest, Number.POSITIVE_INFINITY)) !== "done")
      throw new Error("the last run did not end");
    return { kills: killed, ...compare(dir, jobs) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same with the built hub: an agent's sink pushes to it, with its spool, and sends again what was not acknowledged. */
export async function killHub(jobs: number, kills: number, seed: number): Promise<KillResult> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-jobs-hub-kill-"));
  const dataDir = path.join(folder, "data");
  const port = await freePort();
  let hub = await launchHub({ dataDir, port });
  const sink = openHubSink(
    { url: hub.url, intervalMs: 10_000, spoolMaxBytes: 2 ** 28, spoolAgeMs: 86_400_000 },
    {
      log: silentLog,
      clock: systemClock,
      random: Math.random,
      hostName: "sender",
      spoolDir: path.join(folder, "spool"),
      version: "test",
      waits: true,
      identity: { job: "gpulse", instance: "sender:9400" },
    },
  );
  const drained = async (most: number): Promise<void> => {
    try {
      await waitUntil(
        {
          what: `at most ${most} frames wait`,
          timeoutMs: 600_000,
          giveUp: () =>
            hub.process.exited() === undefined ? undefined : "the hub has ended by itself",
        },
        async () => (sink.shipping().spool.records <= most ? true : undefined),
      );
    } catch (thrown) {
      const output = hub.process.output().split("\n").slice(-20).join("\n");
      const shipping = JSON.stringify(sink.shipping());
      throw new Error(`${String(thrown)}; the sink: ${shipping}; the hub: ${output}`, {
        cause: thrown,
      });
    }
  };
  try {
    const total = deliveriesOf(jobs);
    let [state, killed] = [seed, 0];
    for (let at = 0; at < total; at++) {
      await sink.write(deliveryAt(at, jobs));
      // In step with the hub, so that kills are spread over the whole.
      if (at % 50 === 49) await drained(500);
      if (killed === kills || at < ((killed + 0.5) * total) / kills) continue;
      await hub.ready(60_000);
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      await sleep(state % 400);
      await hub.kill();
      killed++;
      hub = await launchHub({ dataDir, port });
    }
    await drained(0);
    await hub.stop();
    return { kills: killed, ...compare(dataDir, jobs) };
  } finally {
    await sink.close();
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the last delivery that was acknowledged. */
function runAndKill(args: string[], untilAt: number): Promise<number | "done"> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let [output, errors] = ["", ""];
    child.stdout.on("data", (chunk) => {
      output += String(chunk);
      const lines = output.split("\n");
      const newest = Number(lines.at(-2) ?? -1);
      if (newest >= untilAt) child.kill("SIGKILL");
    });
    child.stderr.on("data", (chunk) => (errors += String(chunk)));
    child.on("close", (code, signal) => {
      const lines = output.split("\n").slice(0, -1);
      if (code === 0) resolve("done");
      else if (signal === "SIGKILL") resolve(Number(lines.at(-1) ?? -1));
      else reject(new Error(`the writer failed: ${errors}`));
    });
  });
}

function compare(dataDir: string, jobs: number): Omit<KillResult, "kills"> {
  const expected = new Map<string, string>();
  const [ledger, ticks] = [new Ledger(), new FrameTicks()];
  const apply = (made: readonly GpuTick[]): void => {
    for (const job of ledger.apply(["ticks", made]).jobs) expected.set(job.id, figuresOf(job));
  };
  for (let at = 0; at < deliveriesOf(jobs); at++) apply(ticks.take(deliveryAt(at, jobs)).ticks);
  apply(ticks.flush());
  const hub = new HubJobs({
    dataDir,
    retentionMs: 1e15,
    log: silentLog,
    nowMs: Date.now,
    trustedNowMs: Date.now,
  });
  const found = new Map<string, JobRecord[]>();
  const books = [...hub.ledger.openBooks()];
  for (const day of hub.files.days()) {
    const content = hub.files.read(day);
    for (const job of content.jobs.values())
      found.set(job.key, [...(found.get(job.key) ?? []), job]);
    books.push(...content.books.values());
  }
  const openJobs = hub.ledger.openCount;
  hub.close();
  const all = [...found.values()].flat();
  return {
    jobs: all.length,
    lost: [...expected.keys()].filter((id) => !all.some((job) => job.id === id)).length + openJobs,
    countedTwice: [...found.values()].filter((same) => same.length > 1).length,
    different: all.filter((job) => expected.get(job.id) !== figuresOf(job)).length,
    unclosedBooks: books.filter((book) => !isClosed(book)).length,
  };
}

/** Everything that was counted; sums in another order differ in their last digits. */
const figuresOf = ({ startMs, endMs, stretches }: JobRecord): string =>
  JSON.stringify([
    startMs,
    endMs,
    stretches.map((stretch) => [
      stretch.uuid,
      stretch.gpuSeconds,
      stretch.usefulSeconds,
      stretch.heldIdleSeconds,
      stretch.joules.toFixed(3),
    ]),
  ]);
