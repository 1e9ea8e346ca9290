/**
 * A log through gpulse into Kafka and from there into Parquet and InfluxDB, beside Kafka's own console tools with the same messages
 * and beside native clients with the same rows.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { startKafka } from "../../engines/kafka.ts";
import { writeLog } from "../../test/engines/stream-lab.ts";
import { GpuzFrames } from "../../src/formats/gpuz/frames.ts";
import { RowParser } from "../../src/formats/gpuz/rows.ts";
import { type NativeLegs, startNativePeers } from "../stream-native.ts";
import { consoleRead, type Legs, makeTopic, ours, theirs } from "../stream-legs.ts";
import { alternate, type Area, line } from "./measurement.ts";

const peer = "Kafka's console tools";
const copying =
  "the console tools copy lines; gpulse reads rows, makes and checks JSON, tags, sorts and encodes columns, and commits what is stored, in one JavaScript thread and one for Parquet. More processes in a group take more partitions at once.";

const python = "confluent-kafka for Python";
const duckdb = "DuckDB's read_csv and copy";
const moving =
  "the peer does one leg in native code and Python without checks, units, reasons for absence or atomic commits; gpulse starts a whole program for it.";
const columnar =
  "DuckDB reads the file by columns on every core; gpulse reads rows, as from a log that grows, gives each cell its unit or its reason, and commits the table.";
const nativeRates = [
  ["stream.native.write", "log → Kafka", python, "produce"],
  ["stream.native.read", "Kafka → Parquet", `${python} and pyarrow`, "parquet"],
  ["stream.native.influxdb", "Kafka → InfluxDB", python, "influxdb"],
  ["stream.native.columns", "log → Parquet", duckdb, "columns"],
] as const satisfies readonly (readonly [string, string, string, keyof NativeLegs])[];

export const stream: Area = {
  name: "stream",
  title: "Streams beside Kafka's console tools and native clients",
  about:
    "a GPU-Z log of 30 sensors by `gpulse pipe` into a topic of one partition and by another from there into Parquet; the same messages byte for byte, gzip, by ConsoleProducer from a file and by ConsoleConsumer into one. One process at a time, its start included; every row of the lake is compared with the log. Then the same log and topic by programs of a few lines with native clients (`bench/stream_peers.py`; DuckDB's `read_csv` and `copy`), which convert no units, check nothing and commit no table; what arrives is counted.",
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
    line(
      "stream.parse",
      "rows a second, GPU-Z log → frames, one core",
      "DuckDB's read_csv, one thread",
      "processor",
      "/s",
      {
        better: "higher",
        behind:
          "every cell is checked, converted to its base unit and given its reason where there is no value, in JavaScript; read_csv copies numbers into columns.",
      },
    ),
    line("stream.parquet", "bytes kept, Parquet", "the log as gzip", "bytes", "kB"),
    ...nativeRates.map(([id, what, native]) =>
      line(id, `frames a second, ${what}`, native, "time", "/s", {
        better: "higher",
        behind: native === duckdb ? columnar : moving,
      }),
    ),
  ],
  measure: async ({ full, put, progress }) => {
    const [rounds, rows] = full ? [3, 200_000] : [3, 40_000];
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-bench-stream-"));
    const kafka = await startKafka();
    try {
      const at = (name: string): string => path.join(folder, name);
      await writeLog(at("log.txt"), rows);
      await parseRates(at("log.txt"), rows, rounds, (own, other) =>
        put("stream.parse", own, other),
      );
      // One complete run first: it creates the messages for the tools, and warms up files.
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
      const native = await startNativePeers(kafka, folder, at("log.txt"), rows);
      try {
        const legs = { ours: [] as NativeLegs[], theirs: [] as NativeLegs[] };
        await alternate(
          rounds,
          async (round) => {
            progress(`round ${round + 1} of ${rounds}: gpulse pipe beside native clients`);
            legs.ours.push(await native.ours(round, "first"));
          },
          async (round) => {
            progress(`round ${round + 1} of ${rounds}: native clients`);
            legs.theirs.push(await native.theirs(round, "first"));
          },
        );
        for (const [round, own] of legs.ours.entries()) {
          const other = legs.theirs[round];
          if (other === undefined) throw new Error("BUG: a round has two halves");
          for (const [id, , , leg] of nativeRates) put(id, rows / own[leg], rows / other[leg]);
        }
      } finally {
        await native.stop();
      }
    } finally {
      await kafka.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Rows per second of processor time, both in this process after one round that is not counted. */
async function parseRates(
  log: string,
  rows: number,
  rounds: number,
  put: (own: number, other: number) => void,
): Promise<void> {
  const bytes = readFileSync(log);
  const device = {
    uuid: "GPU-0",
    index: 0,
    vendor: "nvidia",
    model: "GPU",
    simulated: false,
  } as const;
  const parse = async (): Promise<void> => {
    const [parser, frames] = [new RowParser(), new GpuzFrames(device, "host")];
    let count = 0;
    for (let start = 0; start < bytes.length; start += partBytes)
      for (const row of parser.push(bytes.subarray(start, start + partBytes)))
        count += frames.frame(row, row.localMs).values.length > 0 ? 1 : 0;
    if (count !== rows) throw new Error(`${count} of ${rows} rows were parsed`);
  };
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  const readCsv = async (): Promise<void> => {
    const sql = `create or replace temp table log as select * from read_csv('${log}', header = true, encoding = 'latin-1')`;
    await connection.run(sql);
    const [found] = (await connection.runAndReadAll("select count(*) from log")).getRowsJS();
    const count = Number(found?.[0]);
    if (count !== rows) throw new Error(`read_csv found ${count} of ${rows} rows`);
  };
  const rate = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return rows / ((user + system) / 1e6);
  };
  for (let round = 0; round <= rounds; round += 1) {
    const [own, other] = [await rate(parse), await rate(readCsv)];
    if (round > 0) put(own, other);
  }
  connection.closeSync();
  instance.closeSync();
}

const partBytes = 65_536;

const folderBytes = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".parquet"))
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
