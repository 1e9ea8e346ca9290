// The Spark job compared with `gpulse pipe`, on one topic of a real Kafka: the same rows and tags, also after Spark was
// killed.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { Admin, Producer, stringSerializers } from "@platformatic/kafka";
import { parquetMetadata } from "hyparquet";
import { expect, test } from "vitest";

import { startHdfs } from "../../engines/hdfs.ts";
import { startKafka } from "../../engines/kafka.ts";
import { orSkip } from "../../engines/cache.ts";
import { runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";
import { findSpark } from "../../engines/spark.ts";
import { waitUntil } from "../../engines/wait.ts";
import { openFiles } from "../../src/net/objects/open.ts";
import type { FileStore } from "../../src/net/objects/store.ts";
import { openFile } from "../../src/lake/decode.ts";
import { listLake } from "../../src/lake/files.ts";

const job = fileURLToPath(new URL("../../deploy/spark/gpu_stream.py", import.meta.url));
const topic = "gpu-metrics";
// Five minutes before midnight, so that the rows span two days.
const startMs = Date.UTC(2026, 0, 1, 23, 55);

const timeoutMs = 240_000;

/** Every threshold is exceeded in some messages, met exactly in others, and its reading is missing in a third group. */
function message(at: number): { readonly key: string; readonly value: string } {
  const index = at % 3;
  const uuid = `GPU-${index}`;
  const reported = {
    version: 1,
    time: new Date(startMs + at * 1_000).toISOString(),
    host: "lab",
    gpu:
      index === 2
        ? { uuid, index }
        : { uuid, index, vendor: "nvidia", model: "RTX", ...(index === 1 && { simulated: true }) },
    values: {
      ...(at % 5 !== 0 && { gpu_temperature_celsius_edge: 80 + (at % 13) }),
      gpu_power_watts: 290 + ((at * 10) % 80),
      gpu_utilization_ratio: 0.9 + (at % 10) / 100,
      host_cpu_temperature_celsius_package: 78 + (at % 4),
      not_a_column: at,
    },
    ...(at % 7 === 0 && { tags: ["by_hand", "high_power"] }),
    ...(at % 11 === 0 && { absent: { gpu_fan_rpm_1: "unsupported" }, later: { unknown: true } }),
  };
  return { key: uuid, value: JSON.stringify(reported) };
}

const unusable = [
  "no JSON",
  JSON.stringify({ version: 2, time: "2026-01-01T00:00:00.000Z", host: "lab", values: {} }),
  message(1).value.replace("2026-01-01T23", "2026-13-01T23"),
  message(1).value.replace(`"gpu_power_watts":300`, `"gpu_power_watts":"much"`),
];

/** One line per row, sorted; only present values. */
async function rowsOf(files: FileStore): Promise<string[]> {
  const lines: string[] = [];
  for (const file of await listLake(files, "gpu")) {
    const opened = await openFile(files, file.path, file.bytes);
    const rows = await opened.rows(0, opened.rowCount);
    for (let row = 0; row < rows.count; row++) {
      const texts = rows.texts.flatMap(({ name, dictionary, index }) => {
        const place = index[row] ?? -1;
        return place < 0 ? [] : [[name, dictionary[place]]];
      });
      const numbers = rows.numbers.flatMap(({ name, values, present }) =>
        present[row] === 0 ? [] : [[name, values[row]]],
      );
      const cells = [...texts, ...numbers].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
      lines.push(JSON.stringify([file.date, rows.times[row], Object.fromEntries(cells)]));
    }
  }
  return lines.sort();
}

test(
  "the Spark job keeps the rows and tags that pipe keeps, each once, also after a kill",
  { timeout: 900_000 },
  async (context) => {
    await ensureBuild();
    const spark = await orSkip(context, findSpark());
    const kafka = await orSkip(context, startKafka());
    const hdfs = await orSkip(context, startHdfs());
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-spark-stream-"));
    try {
      const cluster = { clientId: "test", bootstrapBrokers: [kafka.bootstrap] };
      const admin = new Admin(cluster);
      await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 });
      await admin.close();
      const producer = new Producer({ ...cluster, serializers: stringSerializers });
      const send = async (from: number, to: number): Promise<void> => {
        const messages = Array.from({ length: to - from }, (_, at) => message(from + at));
        await producer.send({ messages: messages.map((one) => ({ topic, ...one })) });
      };
      await send(0, 600);
      await producer.send({ messages: unusable.map((value) => ({ topic, key: "GPU-0", value })) });

      const lake = await openFiles(`webhdfs://${hdfs.web}/lake?user=${hdfs.user}`, process.env);
      const submit = (...args: string[]) =>
        startProcess(
          spark.sparkSubmit,
          [
            "--master=local[2]",
            `--jars=${spark.kafkaJars.join(",")}`,
            "--conf=spark.ui.enabled=false",
            "--conf=spark.sql.shuffle.partitions=2",
            // The job runs for a minute, too short for Java's optimising compiler to pay off.
            "--driver-java-options=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            job,
            `--brokers=${kafka.bootstrap}`,
            `--topic=${topic}`,
            `--lake=${hdfs.url}/lake`,
            ...args,
          ],
          { name: "spark-submit", cwd: folder, env: { ...spark.env, HADOOP_USER_NAME: hdfs.user } },
        );
      const first = submit("--every", "0 seconds", "--batch", "50");
      await waitUntil(
        {
          what: "Spark to keep its first batches",
          timeoutMs,
          giveUp: () => (first.exited() === undefined ? undefined : first.output()),
        },
        // A batch makes at most two files: with a third one Spark is in the middle of the next batch, which has to be
        // repeated.
        async () => ((await listLake(lake, "gpu")).length >= 3 ? true : undefined),
      );
      process.kill(first.pid, "SIGKILL");
      await first.waitForExit();
      expect((await rowsOf(lake)).length).toBeLessThan(600);
      await send(600, 800);
      const second = submit("--once");
      const end = await second.waitForExit(timeoutMs);
      expect(end.code, second.output()).toBe(0);
      await producer.close();

      const own = path.join(folder, "lake");
      const from = `kafka://${kafka.bootstrap}/${topic}?group=beside&until=end`;
      const pipe = await runGpulse(["pipe", "--from", from, "--to", `parquet:${own}`], {
        timeoutMs,
      });
      expect(pipe.code, pipe.stderr).toBe(0);
      expect(pipe.stderr.match(/sent to the dead-letter topic/g)).toHaveLength(unusable.length);

      const kept = await rowsOf(lake);
      expect(kept).toHaveLength(800);
      const piped = await rowsOf(await openFiles(own, process.env));
      const others = (these: readonly string[], those: readonly string[]): readonly string[] => {
        const known = new Set(those);
        return these.filter((line) => !known.has(line)).slice(0, 3);
      };
      // Shows a few differences instead of thousands of lines.
      const apart = { rows: piped.length, spark: others(kept, piped), pipe: others(piped, kept) };
      expect(apart).toEqual({ rows: 800, spark: [], pipe: [] });
      expect(kept.filter((line) => line.includes("critical_power")).length).toBeGreaterThan(0);
      let letters = 0;
      for (const { path: name } of await lake.list("_dead-letter/")) {
        const bytes = await lake.read(name);
        const { num_rows } = parquetMetadata(new Uint8Array(bytes).buffer);
        letters += Number(num_rows);
      }
      expect(letters).toBe(unusable.length);
      expect(await lake.list("_staging/")).toEqual([]);

      const rowsADay = async (): Promise<string[]> => {
        const args = ["analyze", "daily", "--input", own, "--format", "csv"];
        const env = { TZ: "America/New_York" };
        const done = await runProcess(process.execPath, [program, ...args], { env, timeoutMs });
        expect(done.code, done.stderr).toBe(0);
        const lines = done.stdout.trim().split("\n").slice(1);
        return lines.map((line) => line.split(",").slice(0, 6).join(",")).sort();
      };
      const alone = await rowsADay();
      expect(alone).toHaveLength(6);
      const both = await openFiles(own, process.env);
      for (const { path: name } of await listLake(lake, "gpu"))
        await both.write(name, await lake.read(name));
      // In one lake, on a machine that is not in UTC, both have the same rows.
      expect(await rowsADay()).toEqual(alone);
    } finally {
      await Promise.all([kafka.stop(), hdfs.stop()]);
      await rm(folder, { recursive: true, force: true });
    }
  },
);
