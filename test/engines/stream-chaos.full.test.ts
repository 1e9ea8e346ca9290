// A GPU-Z log through Kafka into InfluxDB and a lake on HDFS while every process on the way is killed: no row may be
// lost.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHdfs } from "../../engines/hdfs.ts";
import { startInfluxDb } from "../../engines/influxdb.ts";
import { startKafka } from "../../engines/kafka.ts";
import { orSkip } from "../../engines/cache.ts";
import type { RunningProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { seededRandom } from "../fuzz/mutate.ts";
import {
  brokenRow,
  killNow,
  lettersOf,
  type Offsets,
  offsetsOf,
  readInflux,
  readLake,
  startGpulse,
  startPipe,
  type WatchedPipe,
  writeLog,
} from "./stream-lab.ts";

/** The keys map to different partitions, so that both readers have work. */
const logs = [
  { uuid: "GPU-long", partition: 1, rows: 100_000, broken: [0, 50_000, 99_999] },
  { uuid: "GPU-short", partition: 0, rows: 40_000, broken: [20_000] },
];
const topic = "gpu-metrics";
const poison = ["not a message", "[1, 2, 3]", '{"version":9,"time":"2026-01-01T00:00:00Z"}'];
const latePoison = ['{"version":1}'];
const busyMachineMs = 200_000;
/** Number of messages that keeps readers busy for a few kills. */
const enoughWork = 20_000;

const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

test(
  "every row of two logs comes into InfluxDB and into the lake on HDFS, whatever is killed on its way",
  { timeout: 900_000, retry: 0 },
  async (context) => {
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-chaos-"));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const [kafka, hdfs, influx] = await orSkip(
      context,
      Promise.all([
        startKafka({ settings: { "group.min.session.timeout.ms": "1000" } }),
        startHdfs(),
        startInfluxDb(),
      ]),
    );
    cleanups.push(
      () => kafka.stop(),
      () => hdfs.stop(),
      () => influx.stop(),
    );
    const files = logs.map(({ uuid }) => path.join(folder, `${uuid}.txt`));
    for (const [at, { rows, broken }] of logs.entries())
      await writeLog(files[at] ?? "", rows, broken);

    const lake = `webhdfs://${hdfs.web}/lake?user=${hdfs.user}`;
    const points = `${influx.url.replace("http", "influxdb")}/gpu?create=true&preset=gpuz`;
    const cluster = `kafka://${kafka.bootstrap}/${topic}`;
    const replay = (at: number): RunningProcess => {
      const started = startGpulse([
        "replay",
        files[at] ?? "",
        "--speed",
        "max",
        "--timezone",
        "UTC",
        "--gpu-name",
        "GeForce RTX 3080",
        "--uuid",
        logs[at]?.uuid ?? "",
        "--to",
        `${cluster}?create=true&partitions=2&timeout=120s`,
      ]);
      cleanups.push(() => started.stop());
      return started;
    };
    const consume = async (at: number): Promise<WatchedPipe> => {
      const started = await startPipe([
        "--checkpoint",
        "1s",
        "--checkpoint-frames",
        "4000",
        "--from",
        `${cluster}?group=lake&session=4s&timeout=120s`,
        "--to",
        `${lake}&name=pipe-${at}&merge=none&roll=1s`,
        "--to",
        points,
      ]);
      cleanups.push(() => started.process.stop());
      return started;
    };
    const offsets = (): Promise<Offsets> => offsetsOf(kafka.bootstrap, topic, "lake");
    const poisonWith = async (messages: readonly string[]): Promise<void> => {
      const { code, stderr } = await kafka.tool(
        "org.apache.kafka.tools.ConsoleProducer",
        ["--bootstrap-server", kafka.bootstrap, "--topic", topic],
        `${messages.join("\n")}\n`,
      );
      expect(code, stderr).toBe(0);
    };

    const replays = logs.map((_, at) => replay(at));
    // Readers require that the topic exists.
    await waitUntil({ what: "the topic", timeoutMs: busyMachineMs }, offsets);
    const pipes = [await consume(0), await consume(1)];
    await poisonWith(poison);

    const random = seededRandom(8);
    let reported = "";
    /** Returns the output of a process that ended without being killed by the test. */
    const fallen = (): string | undefined =>
      [...replays, ...pipes.map((pipe) => pipe.process)]
        .find((running) => (running.exited()?.code ?? 0) !== 0 || running.exited()?.signal)
        ?.output() ?? pipes.find((pipe) => pipe.process.exited() !== undefined)?.process.output();
    /** Replays a finished log again while kills remain: rows are identified by GPU and time, so repetitions do no harm. */
    const feed = async (needed?: number): Promise<void> => {
      const { ends, committed: done } = await offsets();
      const left = ends.reduce((sum, end, at) => sum + end - (done[at] ?? 0), 0);
      for (const [at, running] of replays.entries())
        if (running.exited()?.code === 0 && (at === needed || left < enoughWork))
          replays[at] = replay(at);
    };
    /** Waits until `progress` has grown by a random amount and for a random time, so that a kill hits a busy process. */
    const atWork = async (
      what: string,
      progress: () => Promise<number>,
      replayed?: number,
    ): Promise<void> => {
      const bounds = { timeoutMs: busyMachineMs, giveUp: fallen };
      const before = await waitUntil({ what, ...bounds }, progress);
      const more = 500 + random() * 4_000;
      await waitUntil({ what: `${what} to go on`, ...bounds }, async () => {
        await feed(replayed);
        return (await progress()) - before >= more ? true : undefined;
      });
      await sleep(random() * 500);
      reported += `${what}, `;
    };
    const killReplay = async (at: number): Promise<void> => {
      const { partition = 0 } = logs[at] ?? {};
      await atWork(`replay ${at}`, async () => (await offsets()).ends[partition] ?? 0, at);
      await feed(at);
      await killNow(replays[at] as RunningProcess);
      replays[at] = replay(at);
    };
    const killPipe = async (at: number): Promise<void> => {
      const pipe = pipes[at] as WatchedPipe;
      await atWork(`pipe ${at}`, () => pipe.frames());
      await killNow(pipe.process);
      pipes[at] = await consume(at);
    };
    const committed = async (): Promise<number> =>
      (await offsets()).committed.reduce((sum, one) => sum + one, 0);
    const killEngine =
      (what: string, engine: { kill(): Promise<void>; restart(): Promise<void> }) => async () => {
        await atWork(what, committed);
        await engine.kill();
        await sleep(random() * 2_000);
        await engine.restart();
      };
    const kills = [
      () => killReplay(0),
      () => killPipe(0),
      killEngine("the broker", kafka),
      () => killPipe(1),
      killEngine("InfluxDB", influx),
      () => killReplay(1),
      killEngine("HDFS", hdfs),
      () => killPipe(0),
      killEngine("the broker", kafka),
    ];
    for (const kill of kills) await kill();
    await poisonWith(latePoison);

    for (const running of replays) {
      const { code } = await running.waitForExit(busyMachineMs);
      expect(code, running.output()).toBe(0);
    }
    await waitUntil(
      {
        what: "everything to be committed",
        timeoutMs: busyMachineMs,
        giveUp: fallen,
      },
      async () => {
        const { ends, committed: done } = await offsets();
        return ends.every((end, at) => end === done[at]) ? true : undefined;
      },
    );
    for (const { process: running } of pipes)
      expect((await running.stop(30_000)).code, running.output()).toBe(0);

    const arrived = {
      lake: await readLake(lake),
      influx: await readInflux(influx, "gpu"),
    };
    for (const [sink, { times, wrong }] of Object.entries(arrived)) {
      expect(wrong, sink).toBe(0);
      expect([...times.keys()].sort(), sink).toEqual(logs.map(({ uuid }) => uuid));
      for (const { uuid, rows } of logs) expect(times.get(uuid)?.size, sink).toBe(rows);
    }
    // InfluxDB itself identifies a point by its GPU and time.
    expect(arrived.influx.again).toBe(0);
    process.stderr.write(
      `killed ${reported}and ${arrived.lake.again} rows of the lake came again\n`,
    );

    const { stdout } = await kafka.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", [
      "--bootstrap-server",
      kafka.bootstrap,
      "--topic",
      `${topic}.dead-letter`,
      "--from-beginning",
      "--timeout-ms",
      "8000",
      "--property",
      "print.headers=true",
    ]);
    const letters = lettersOf(stdout);
    for (const { headers } of letters) expect(headers).toMatch(/(^|,)error:[^,]{10,}/);
    const fromTopic = letters.filter(({ headers }) => headers.includes(`source-topic:${topic}`));
    expect([...new Set(fromTopic.map(({ content }) => content))].sort()).toEqual(
      [...poison, ...latePoison].sort(),
    );
    const fromLogs = letters.filter((letter) => !fromTopic.includes(letter));
    expect([...new Set(fromLogs.map(({ content }) => content))].sort()).toEqual(
      [...new Set(logs.flatMap(({ broken }) => broken.map((at) => brokenRow(at).trim())))].sort(),
    );
    for (const { uuid } of logs)
      expect(fromLogs.some(({ headers }) => headers.includes(`${uuid}.txt`))).toBe(true);
  },
);
