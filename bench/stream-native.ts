/**
 * The streams benchmark beside native clients: confluent-kafka and pyarrow for Python, and DuckDB, each as a program of its own
 * that does no more than move the rows. Both read the same log or the same topic; what arrives is counted.
 */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startInfluxDb } from "../engines/influxdb.ts";
import type { RunningKafka } from "../engines/kafka.ts";
import { pythonPackages } from "../engines/python.ts";
import { gpulse, logUrl, makeTopic, timed } from "./stream-legs.ts";

const script = fileURLToPath(new URL("stream_peers.py", import.meta.url));

export interface NativeLegs {
  /** Log → Kafka, Kafka → Parquet, Kafka → InfluxDB and log → Parquet, in seconds. */
  readonly produce: number;
  readonly parquet: number;
  readonly influxdb: number;
  readonly columns: number;
}

export interface NativePeers {
  /** @param topic has the log's rows as gpulse wrote them */
  ours(round: number, topic: string): Promise<NativeLegs>;
  theirs(round: number, topic: string): Promise<NativeLegs>;
  stop(): Promise<void>;
}

export async function startNativePeers(
  kafka: RunningKafka,
  folder: string,
  log: string,
  rows: number,
): Promise<NativePeers> {
  const { python } = await pythonPackages("stream-peers", [
    "confluent-kafka==2.11.0",
    "pyarrow==21.0.0",
  ]);
  const influx = await startInfluxDb();
  const at = (name: string): string => path.join(folder, name);
  const peer = (...args: readonly string[]): Promise<number> => timed(python, [script, ...args]);
  const countParquet = async (files: string): Promise<void> => {
    const [row] = await queryDuckDb(`select count(*) from read_parquet('${files}')`);
    if (Number(row?.[0]) !== rows)
      throw new Error(`${files} has ${String(row?.[0])} of ${rows} rows`);
  };
  const newDatabase = (name: string): Promise<unknown> => influx.query(`CREATE DATABASE ${name}`);
  const countPoints = async (database: string): Promise<void> => {
    const counted = await influx.query("SELECT count(*) FROM /.*/ GROUP BY *", database);
    const most = Math.max(
      0,
      ...counted.flatMap(({ values }) => values[0]?.slice(1).map(Number) ?? []),
    );
    if (most !== rows) throw new Error(`InfluxDB has ${most} of ${rows} points`);
    await influx.query(`DROP DATABASE ${database}`);
  };
  const columnsByDuckDb = writeDuckDbScript(folder, log);
  return {
    async ours(round, topic) {
      const [lake, direct, database] = [at(`lake-a${round}`), at(`lake-b${round}`), `ours${round}`];
      await makeTopic(kafka, `native-ours-${round}`);
      await newDatabase(database);
      const topicUrl = (group: string): string =>
        `kafka://${kafka.bootstrap}/${topic}?group=${group}-${round}&until=end`;
      const pipe = (from: string, to: string): Promise<number> =>
        gpulse(["pipe", "--from", from, "--to", to]);
      const legs = {
        produce: await pipe(logUrl(log), `kafka://${kafka.bootstrap}/native-ours-${round}`),
        parquet: await pipe(topicUrl("parquet"), `parquet:${lake}`),
        influxdb: await pipe(
          topicUrl("influxdb"),
          `influxdb://${new URL(influx.url).host}/${database}?preset=gpuz`,
        ),
        columns: await pipe(logUrl(log), `parquet:${direct}`),
      };
      for (const one of [lake, direct]) await countParquet(`${one}/gpu/**/*.parquet`);
      await countPoints(database);
      for (const one of [lake, direct]) rmSync(one, { recursive: true });
      return legs;
    },
    async theirs(round, topic) {
      const [read, columns, database] = [
        at(`read${round}.parquet`),
        at("columns.parquet"),
        `theirs${round}`,
      ];
      await makeTopic(kafka, `native-theirs-${round}`);
      await newDatabase(database);
      const write = `${influx.url}/write?db=${database}&precision=ms`;
      const from = [kafka.bootstrap, topic, String(rows)] as const;
      const legs = {
        produce: await peer("produce", kafka.bootstrap, `native-theirs-${round}`, log),
        parquet: await peer("parquet", ...from, read),
        influxdb: await peer("influxdb", ...from, write),
        columns: await timed(process.execPath, [columnsByDuckDb, columns]),
      };
      for (const one of [read, columns]) await countParquet(one);
      await countPoints(database);
      for (const one of [read, columns]) rmSync(one);
      return legs;
    },
    stop: () => influx.stop(),
  };
}

/** The log's rows as they are, without units, times or reasons. */
function writeDuckDbScript(folder: string, log: string): string {
  const file = path.join(folder, "columns.mjs");
  const duckdb = import.meta.resolve("@duckdb/node-api");
  const sql = `copy (select * from read_csv('${log}', header = true, encoding = 'latin-1')) to '`;
  writeFileSync(
    file,
    `import { DuckDBInstance } from ${JSON.stringify(duckdb)};
const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
await connection.run(${JSON.stringify(sql)} + process.argv[2] + "' (format parquet, compression zstd)");
connection.closeSync();
instance.closeSync();
`,
  );
  return file;
}

async function queryDuckDb(sql: string): Promise<readonly (readonly unknown[])[]> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowsJS();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
