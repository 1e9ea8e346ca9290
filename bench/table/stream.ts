/** A log through gpulse into Kafka and on into Parquet, beside the same messages through Kafka's own console tools. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { startKafka } from "../../engines/kafka.ts";
import { writeLog } from "../../test/engines/stream-lab.ts";
import { consoleRead, type Legs, makeTopic, ours, theirs } from "../stream-legs.ts";
import { alternate, type Area, line } from "./measurement.ts";

const peer = "Kafka's console tools";
const copying =
  "the console tools copy lines; gpulse reads rows, makes and checks JSON, tags, sorts and encodes columns, and commits what is stored, in one JavaScript thread and one for Parquet. More processes in a group take more partitions at once.";

export const stream: Area = {
  name: "stream",
  title: "Streams beside Kafka's console tools",
  about:
    "a GPU-Z log of 30 sensors by `gpulse pipe` into a topic of one partition and by another from there into Parquet; the same messages byte for byte, gzip, by ConsoleProducer from a file and by ConsoleConsumer into one. One process at a time, its start included; every row of the lake is compared with the log.",
  more: "npm run bench:stream",
  measurements: [
    line("stream.write", "frames a second, log → Kafka", `${peer}, lines → Kafka`, "time", "/s", {
      better: "higher",
      behind: copying,
    }),
    line(
      "stream.read",
      "frames a second, Kafka → Parquet",
      `${peer}, Kafka → lines`,
      "time",
      "/s",
      {
        better: "higher",
        behind: copying,
      },
    ),
    line("stream.parquet", "bytes kept, Parquet", "the log as gzip", "bytes", "kB"),
  ],
  measure: async ({ full, put, progress }) => {
    const [rounds, rows] = full ? [3, 200_000] : [3, 40_000];
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-bench-stream-"));
    const kafka = await startKafka();
    try {
      const at = (name: string): string => path.join(folder, name);
      await writeLog(at("log.txt"), rows);
      // One whole way first: it makes the messages that the tools send, and finds cold files.
      await makeTopic(kafka, "first");
      await ours(kafka, at("log.txt"), "first", at("lake-first"), rows);
      await consoleRead(kafka, "first", at("messages"), rows);
      const packed = gzipSync(readFileSync(at("log.txt"))).length;
      put("stream.parquet", folderBytes(at("lake-first")) / 1e3, packed / 1e3);
      const took = { ours: [] as Legs[], theirs: [] as Legs[] };
      await alternate(
        rounds,
        async (round) => {
          progress(`round ${round + 1} of ${rounds}: gpulse pipe, ${rows} frames`);
          await makeTopic(kafka, `ours-${round}`);
          took.ours.push(
            await ours(kafka, at("log.txt"), `ours-${round}`, at(`lake-${round}`), rows),
          );
        },
        async (round) => {
          progress(`round ${round + 1} of ${rounds}: console tools, ${rows} messages`);
          await makeTopic(kafka, `theirs-${round}`);
          took.theirs.push(
            await theirs(kafka, at("messages"), `theirs-${round}`, at("read"), rows),
          );
        },
      );
      for (const [round, own] of took.ours.entries()) {
        const other = took.theirs[round];
        if (other === undefined) throw new Error("BUG: a round has two halves");
        put("stream.write", rows / own.write, rows / other.write);
        put("stream.read", rows / own.read, rows / other.read);
      }
    } finally {
      await kafka.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const folderBytes = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".parquet"))
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
