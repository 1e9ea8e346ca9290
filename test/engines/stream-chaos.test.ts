import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { startHdfs } from "../../engines/hdfs.ts";
import { startKafka } from "../../engines/kafka.ts";
import { orSkip } from "../../engines/kept.ts";
import { startProcess } from "../../engines/process.ts";
import type { RunningProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { openFiles } from "../../src/files/open.ts";
import {
  geforceCells,
  geforceColumns,
  headerLine,
  rowLine,
} from "../../src/formats/gpuz/fixture.ts";
import { closeQuietly, loadClient } from "../../src/kafka/client.ts";
import { openFile } from "../../src/lake/decode.ts";
import { listLake } from "../../src/lake/files.ts";
import { seededRandom } from "../fuzz/mutate.ts";

const startMs = Date.UTC(2026, 0, 1);
/** Together 120,000 rows; the GPUs' keys fall into different partitions. */
const logs = [
  { uuid: "GPU-long", rows: 100_000 },
  { uuid: "GPU-short", rows: 20_000 },
];
const brokenRow = "2026-13-77 99:99:99 , this row is broken ,\r\n";
const topic = "gpu-metrics";

const cleanups: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 60_000);

const second = (at: number): string =>
  new Date(startMs + at * 1_000).toISOString().slice(0, 19).replace("T", " ");

/** The board's power tells the rows apart, up to its thousand. */
async function writeLog(file: string, rows: number): Promise<void> {
  const stream = createWriteStream(file, { encoding: "latin1" });
  stream.write(headerLine(geforceColumns));
  const power = geforceColumns.indexOf("Board Power Draw [W]");
  for (let at = 0; at < rows; at++) {
    const cells: (string | number)[] = [...geforceCells];
    cells[power] = at % 300;
    if (at === Math.floor(rows / 2)) stream.write(brokenRow);
    if (!stream.write(rowLine(second(at), cells))) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "finish");
}

/** gpulse from its sources, as a process of its own that can be killed. */
function gpulse(args: readonly string[]): RunningProcess {
  const main = path.join(repository, "src/cli/main.ts");
  const running = startProcess(process.execPath, ["--import", "tsx", main, ...args], {
    name: `gpulse ${args[0]}`,
    cwd: repository,
  });
  cleanups.push(() => running.stop());
  return running;
}

async function kill(running: RunningProcess): Promise<void> {
  if (running.exited() !== undefined) return;
  process.kill(running.pid, "SIGKILL");
  await running.waitForExit();
}

async function lagOf(bootstrap: string, group: string): Promise<number> {
  const client = await loadClient();
  const consumer = new client.Consumer({
    clientId: "test",
    bootstrapBrokers: [bootstrap],
    groupId: group,
    retries: 0,
  });
  try {
    const ends = (await consumer.listOffsets({ topics: [topic] })).get(topic) ?? [];
    const partitions = ends.map((_, partition) => partition);
    const done = (await consumer.listCommittedOffsets({ topics: [{ topic, partitions }] })).get(
      topic,
    );
    // A partition that nothing ever came to has nothing committed, which reads as -1.
    const held = partitions.map((partition) => Math.max(0, Number(done?.[partition] ?? 0n)));
    return ends.reduce((sum, end, partition) => sum + Number(end) - (held[partition] ?? 0), 0);
  } finally {
    await closeQuietly(consumer);
  }
}

test(
  "every row of a log comes into the lake on HDFS, whatever is killed on its way",
  { timeout: 400_000 },
  async (context) => {
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-chaos-"));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const settings = { "group.min.session.timeout.ms": "1000" };
    const [kafka, hdfs] = await orSkip(
      context,
      Promise.all([startKafka({ settings }), startHdfs()]),
    );
    cleanups.push(() => kafka.stop());
    cleanups.push(() => hdfs.stop());
    const files = logs.map(({ uuid }) => path.join(folder, `${uuid}.txt`));
    await Promise.all(logs.map(({ rows }, at) => writeLog(files[at] ?? "", rows)));

    const lake = `webhdfs://${hdfs.web}/lake?user=${hdfs.user}`;
    const replay = (at: number): RunningProcess =>
      gpulse([
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
        `kafka://${kafka.bootstrap}/${topic}?create=true&partitions=4&timeout=60s`,
      ]);
    const consume = (at: number): RunningProcess =>
      gpulse([
        "pipe",
        "--checkpoint",
        "1s",
        "--checkpoint-frames",
        "5000",
        "--from",
        `kafka://${kafka.bootstrap}/${topic}?group=lake&session=4s&timeout=60s`,
        "--to",
        `${lake}&name=pipe-${at}&merge=none`,
      ]);
    const replays = [replay(0), replay(1)];
    // Readers want the topic to be there.
    await waitUntil({ what: "the topic", timeoutMs: 60_000 }, async () => {
      await lagOf(kafka.bootstrap, "nobody");
      return true;
    });
    const pipes = [consume(0), consume(1)];

    const random = seededRandom(8);
    const moment = (): Promise<void> => sleep(1_000 + random() * 3_000);
    await moment();
    await kill(replays[0] as RunningProcess);
    replays[0] = replay(0);
    for (const at of [0, 1]) {
      await moment();
      await kill(pipes[at] as RunningProcess);
      pipes[at] = consume(at);
    }
    await moment();
    await kafka.kill();
    await kafka.restart();
    await moment();
    await kill(replays[1] as RunningProcess);
    replays[1] = replay(1);

    for (const running of replays) {
      const { code } = await running.waitForExit(200_000);
      expect(code, running.output()).toBe(0);
    }
    await waitUntil(
      {
        what: "everything to be committed",
        timeoutMs: 120_000,
        giveUp: (): string | undefined => pipes.find((one) => one.exited() !== undefined)?.output(),
      },
      async () => ((await lagOf(kafka.bootstrap, "lake")) === 0 ? true : undefined),
    );
    for (const running of pipes)
      expect((await running.stop(20_000)).code, running.output()).toBe(0);

    const { rows, times, wrong } = await readLake(lake);
    expect(wrong).toBe(0);
    for (const { uuid, rows: wanted } of logs) expect(times.get(uuid)?.size).toBe(wanted);
    const unique = logs.reduce((sum, { rows: wanted }) => sum + wanted, 0);
    process.stderr.write(
      `${unique} rows, ${rows - unique} of them again, removed by GPU and time\n`,
    );

    const letters = await kafka.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", [
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
    for (const { uuid } of logs)
      expect(letters.stdout).toMatch(new RegExp(`error:[^\\t]+source:[^\\t]*${uuid}.*is broken`));
  },
);

/** Every row by GPU and time, and how many do not hold what the log said. */
async function readLake(address: string) {
  const files = await openFiles(address, process.env);
  const times = new Map<string, Set<number>>();
  let rows = 0;
  let wrong = 0;
  for (const { path: name, bytes } of await listLake(files, "gpu")) {
    const opened = await openFile(files, name, bytes);
    const read = await opened.rows(0, opened.rowCount);
    const uuids = read.texts.find((column) => column.name === "uuid");
    const power = read.numbers.find((column) => column.name === "gpu_power_watts");
    for (let row = 0; row < read.count; row++) {
      rows++;
      const timeMs = read.times[row] ?? Number.NaN;
      const uuid = uuids?.dictionary[uuids.index[row] ?? -1] ?? "";
      const seen = times.get(uuid) ?? new Set<number>();
      times.set(uuid, seen.add(timeMs));
      if (power?.values[row] !== ((timeMs - startMs) / 1_000) % 300) wrong++;
    }
  }
  return { rows, times, wrong };
}
