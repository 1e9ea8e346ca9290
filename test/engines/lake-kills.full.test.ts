// Consumers of one group are killed, frozen past their session and joined by others, and the broker and compactions are
// killed, while a lake is written and merged: afterwards every message is in it once, counted by three third-party
// readers.

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startKafka } from "../../engines/kafka.ts";
import type { RunningProcess } from "../../engines/process.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { seededRandom } from "../fuzz/mutate.ts";
import { ConsumerSession, gpus, sourceFrom, write } from "./kafka-lab.ts";
import { countByPyIceberg, countBySpark, countIcebergByDuckDb } from "./iceberg-lab.ts";
import { type CountedRows, countByDuckDb, countByPyarrow } from "./lake-once-lab.ts";
import { killNow, offsetsOf, startGpulse } from "./stream-lab.ts";

/** Environment variables for a longer run, optionally with a time limit. */
const disturbances = Number(process.env["GPULSE_LAKE_KILLS"] ?? 40);
const seconds = Number(process.env["GPULSE_LAKE_KILLS_SECONDS"] ?? Number.POSITIVE_INFINITY);
const messagesOfLot = 2_400;
const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

test.each(["parquet", "iceberg"] as const)(
  "every message is in the lake (%s) once, whatever is killed, frozen or rebalanced on its way",
  { timeout: 600_000 + disturbances * 30_000, retry: 0 },
  async (format) => {
    const topic = `killed-${format}`;
    // Removed only if every count is right.
    const lake = await mkdtemp(path.join(tmpdir(), "gpulse-lake-kills-"));
    const settings = { "group.min.session.timeout.ms": "1000" };
    const kafka = await startKafka({ settings });
    cleanups.push(() => kafka.stop());
    const cluster = `kafka://${kafka.bootstrap}/${topic}`;
    const random = seededRandom(31);
    const whole = (below: number): number => Math.floor(random() * below);

    let lots = 0;
    const fed = new AbortController();
    const feed = async (): Promise<void> => {
      while (!fed.signal.aborted) {
        const devices = gpus(12).map((device) => ({
          ...device,
          uuid: `GPU-${lots}-${device.index}`,
        }));
        const url = `${cluster}?create=true&partitions=6&timeout=120s`;
        await write(url, messagesOfLot / devices.length, devices);
        lots++;
        await sleep(500);
      }
    };
    const feeding = feed();
    const from = `${cluster}?group=lake&session=2s&timeout=120s`;
    const start = (): RunningProcess => {
      const pipe = ["pipe", "--checkpoint-frames", "1000", "--from", from];
      const made = startGpulse([...pipe, "--to", `parquet:${lake}?roll=1s&format=${format}`]);
      cleanups.push(() => made.stop());
      return made;
    };
    const counts = { killed: 0, frozen: 0, stopped: 0, visited: 0, broker: 0, compact: 0 };
    const endMs = performance.now() + seconds * 1_000;
    const left = (): number =>
      performance.now() > endMs
        ? 0
        : disturbances - Object.values(counts).reduce((sum, one) => sum + one);
    // A pipe that is stopped while the broker is down rightly fails, so the two never overlap.
    let stopOrBroker: Promise<unknown> = Promise.resolve();
    const oneAtATime = (action: () => Promise<unknown>): Promise<unknown> =>
      (stopOrBroker = stopOrBroker.then(action));
    /** The disturbances of one of the pipes; three run at a time, so that they overlap. */
    const disturb: Readonly<
      Record<Exclude<keyof typeof counts, "broker">, (pipe: RunningProcess) => Promise<unknown>>
    > = {
      killed: killNow,
      stopped: (pipe) =>
        oneAtATime(async () => {
          const { code } = await pipe.stop(60_000);
          // Null: the process did not handle signals yet, so the signal killed it. On a busy machine the time to store
          // the rest may be over, which it reports.
          const isLate = /stopped before the sinks had everything/.test(pipe.output());
          expect(isLate ? [1] : [0, null], pipe.output()).toContain(code);
        }),
      // Its partitions are reassigned; when it resumes it still holds rows of them.
      frozen: async (pipe) => {
        process.kill(pipe.pid, "SIGSTOP");
        await sleep(2_500 + random() * 1_500);
        process.kill(pipe.pid, "SIGCONT");
      },
      // A consumer that joins, reads from its partitions, and leaves without a commit.
      visited: async () => {
        const visitor = new ConsumerSession(await sourceFrom(from));
        await sleep(200 + random() * 800);
        await visitor.stop(false);
      },
      // Concurrent with the pipes' own merges; killed somewhere between its start and its end.
      compact: async () => {
        const compact = startGpulse(["lake", "compact", lake]);
        await sleep(200 + random() * 1_500);
        if (compact.exited() === undefined) await killNow(compact);
      },
    };
    const kinds = [
      "killed",
      "killed",
      "killed",
      "visited",
      "compact",
      "frozen",
      "stopped",
    ] as const;
    const pipes: RunningProcess[] = [];
    const disturbed = async (): Promise<void> => {
      let pipe = start();
      while (left() > 0) {
        await sleep(200 + random() * 1_800);
        expect(pipe.exited(), pipe.output()).toBeUndefined();
        const kind = kinds[whole(kinds.length)] ?? "killed";
        counts[kind]++;
        await disturb[kind](pipe);
        if (pipe.exited() !== undefined) pipe = start();
      }
      pipes.push(pipe);
    };
    const brokerKilled = async (): Promise<void> => {
      for (let next = disturbances - 15; next > 0; next -= 25) {
        while (left() > next) await sleep(100);
        if (left() === 0) return;
        counts.broker++;
        await oneAtATime(async () => {
          await kafka.kill();
          await sleep(random() * 1_000);
          await kafka.restart();
        });
      }
    };
    await Promise.all([disturbed(), disturbed(), disturbed(), brokerKilled()]);
    fed.abort();
    await feeding;
    const total = lots * messagesOfLot;
    await waitUntil({ what: "everything to be committed", timeoutMs: 600_000 }, async () => {
      const { ends, committed } = await offsetsOf(kafka.bootstrap, topic, "lake");
      return ends.every((end, at) => end === committed[at]) ? true : undefined;
    });
    for (const pipe of pipes) expect((await pipe.stop(300_000)).code, pipe.output()).toBe(0);
    // A merge may have been killed: the next start completes it.
    const last = startGpulse([
      "pipe",
      "--from",
      `${cluster}?group=lake&until=end`,
      "--to",
      `parquet:${lake}?format=${format}`,
    ]);
    expect((await last.waitForExit(600_000)).code, last.output()).toBe(0);
    const report = (text: string): boolean => process.stderr.write(`${format}: ${text}\n`);
    const commits = (await readdir(path.join(lake, "_commits"))).length;
    report(`${JSON.stringify(counts)}, ${total} messages, ${commits} files in _commits of ${lake}`);
    const readers: Readonly<Record<string, () => Promise<CountedRows>>> =
      format === "parquet"
        ? { duckdb: () => countByDuckDb(lake), pyarrow: () => countByPyarrow(lake) }
        : { duckdb: () => countIcebergByDuckDb(lake), pyiceberg: () => countByPyIceberg(lake) };
    const all = { ...readers, spark: () => countBySpark(lake, format) };
    // One reader that fails must not hide what the others counted.
    const found: Record<string, CountedRows | string> = {};
    for (const [name, count] of Object.entries(all)) {
      found[name] = await count().catch(String);
      report(`${name} ${JSON.stringify(found[name])}`);
    }
    const verified = await runGpulse(["lake", "verify", lake]);
    report(verified.stdout);
    const expected = { rows: total, different: total };
    for (const [name, one] of Object.entries(found)) expect(one, name).toEqual(expected);
    expect(verified.code, verified.stdout).toBe(0);
    await rm(lake, { recursive: true });
  },
);
