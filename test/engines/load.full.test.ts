// The agents of 10,000 GPUs, 200 dashboards and 200 pages on one hub, and then all of them faster than it can process:
// no reading is lost, and afterwards the hub is as it was before. LOAD_SCALE=0.1 runs a tenth of the load.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { LoadFleet, makeTokens } from "../../bench/load-fleet.ts";
import { gpusPerHost } from "../../bench/load-host.ts";
import { LoadReaders } from "../../bench/load-readers.ts";
import { HubWatch, valueOf } from "../../bench/load-watch.ts";
import { startHub } from "../../engines/hub.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

const scale = Number(process.env["LOAD_SCALE"] ?? "1");
const hosts = Math.max(8, Math.round(1_250 * scale));
const people = Math.max(4, Math.round(200 * scale));
const patienceMs = 900_000;

const cleanups: (() => Promise<unknown>)[] = [];
let folder: string;
beforeAll(async () => {
  await ensureBuild();
  // Normally each machine has its own disk; a thousand spools on this disk would measure the disk.
  const shared = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  folder = await mkdtemp(path.join(shared, "gpulse-load-full-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
}, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 300_000);

const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
  void (await waitUntil({ what, timeoutMs: patienceMs }, async () =>
    (await holds()) ? true : undefined,
  ));

test(
  "a fleet, its dashboards and its pages, past what one hub can do: nothing is lost, and it recovers",
  { timeout: 3_600_000, retry: 0 },
  async (context) => {
    if (process.platform !== "linux") context.skip("needs Linux's /proc to tell what it costs");
    const dataDir = path.join(folder, "hub");
    const tokens = makeTokens(dataDir, hosts);
    const hub = await startHub({ dataDir });
    cleanups.push(() => hub.stop());
    const openFiles = async (): Promise<number> => {
      const page = await (await fetch(`${hub.url}/metrics`)).text();
      return Number(/^process_open_fds (\d+)$/m.exec(page)?.[1]);
    };
    const filesBefore = await openFiles();
    const watching = new HubWatch(hub.url, hub.process.pid);
    const fleet = new LoadFleet({
      hubUrl: hub.url,
      hosts,
      processes: 2,
      spoolDir: path.join(folder, "spool"),
      tokens,
      intervalMs: 15_000,
    });
    cleanups.push(() => fleet.stop());
    await fleet.ready();
    fleet.pace(15_000);
    await until(
      "every host to have been heard",
      async () => (await valueOf(hub.url, "count(gpu_power_watts)")) === hosts * gpusPerHost,
    );

    const readers = new LoadReaders({ hubUrl: hub.url, hosts, prefix: "load" });
    cleanups.push(() => readers.stop());
    await readers.ready();
    readers.set({ dashboards: people, refreshMs: 30_000, pages: people });
    await readers.ready();
    await until("every page to be open", () => readers.now.pagesOpen === people);
    await until("every dashboard to have been drawn", () => readers.now.refreshes >= people);

    fleet.pace(1_000);
    readers.set({ dashboards: people * 2, refreshMs: 0, pages: people * 4 });
    await sleep(30_000);
    await readers.ready();
    expect(readers.now.withoutRetryAfter).toBe(0);
    readers.set({ dashboards: 0, refreshMs: 1_000, pages: 0 });
    fleet.pace(0);
    await fleet.settle(patienceMs);

    const { ticks, written, sent, refused, dropped, retries } = fleet.now;
    const kept = await valueOf(hub.url, "sum(count_over_time(gpu_power_watts[2h]))");
    const { cpuSeconds, shed, peakBytes } = await watching.end();
    const line = `${hosts * gpusPerHost} GPUs: ${written} samples read, ${sent} acknowledged, ${refused + dropped} lost, ${retries} times sent again; rejected ${JSON.stringify(shed)}; ${((cpuSeconds / sent) * 1e6).toFixed(2)} s of processor a million samples with all else, at most ${Math.round(peakBytes / 2 ** 20)} MiB`;
    process.stderr.write(`${line}\n`);
    await context.annotate(line);
    expect({ sent, refused, dropped, kept }).toEqual({
      sent: written,
      refused: 0,
      dropped: 0,
      kept: ticks * gpusPerHost,
    });

    await fleet.stop();
    await readers.stop();
    await until(
      "what they held to be given back",
      async () => (await openFiles()) <= filesBefore + 20,
    );
    await until("the hub to say that all is well", async () => {
      const { problems } = (await (await fetch(`${hub.url}/-/ready`)).json()) as {
        problems: readonly string[];
      };
      return problems.every((problem) => !problem.startsWith("asked for more"));
    });
  },
);
