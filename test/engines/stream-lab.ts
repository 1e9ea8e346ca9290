// Shared helpers for tests of whole streams: GPU-Z logs of any length, gpulse as a process that can be killed, the
// progress of a group, and all rows of a lake or an InfluxDB.

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { RunningInfluxDb } from "../../engines/influxdb.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { program } from "../../engines/program.ts";
import { openFiles } from "../../src/net/objects/open.ts";
import { geforceCells, geforceColumns, headerLine, rowLine } from "../fixtures/formats/gpuz.ts";
import { closeQuietly, loadClient } from "../../src/net/kafka/client.ts";
import { openFile } from "../../src/lake/decode.ts";
import { listLake } from "../../src/lake/files.ts";

export const logStartMs = Date.UTC(2026, 0, 1);

/** One row per second; board power and temperature identify the row. Never high enough for a tag that other rows lack. */
export const wattsAt = (timeMs: number): number => ((timeMs - logStartMs) / 1_000) % 293;
const celsiusAt = (timeMs: number): number => 30 + (((timeMs - logStartMs) / 1_000) % 53);

export const brokenRow = (at: number): string =>
  `2026-13-77 99:99:99 , broken row ${at} ,`.padEnd(80);

/** Broken rows are inserted before the rows with the given numbers. */
export async function writeLog(
  file: string,
  rows: number,
  broken: readonly number[] = [],
): Promise<void> {
  const stream = createWriteStream(file, { encoding: "latin1" });
  stream.write(headerLine(geforceColumns));
  const power = geforceColumns.indexOf("Board Power Draw [W]");
  const temperature = geforceColumns.indexOf("GPU Temperature [°C]");
  for (let at = 0; at < rows; at++) {
    const timeMs = logStartMs + at * 1_000;
    const cells: (string | number)[] = [...geforceCells];
    cells[power] = wattsAt(timeMs);
    cells[temperature] = celsiusAt(timeMs);
    if (broken.includes(at)) stream.write(`${brokenRow(at)}\r\n`);
    const date = new Date(timeMs).toISOString().slice(0, 19).replace("T", " ");
    if (!stream.write(rowLine(date, cells))) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "finish");
}

/** The built program as a user starts it. */
export const startGpulse = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningProcess =>
  startProcess(process.execPath, [program, ...args], { name: `gpulse ${args[0]}`, env });

export async function killNow(running: RunningProcess): Promise<void> {
  process.kill(running.pid, "SIGKILL");
  await running.waitForExit();
}

/** A pipe and its frame count, from its own metrics. */
export interface WatchedPipe {
  readonly process: RunningProcess;
  frames(): Promise<number>;
}

export async function startPipe(args: readonly string[]): Promise<WatchedPipe> {
  const port = await freePort();
  const running = startGpulse(["pipe", ...args, "--port", String(port)]);
  return {
    process: running,
    frames: async () => {
      const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return Number(/^gpulse_pipe_frames_total\{source="kafka"\} (\S+)$/m.exec(page)?.[1] ?? 0);
    },
  };
}

export interface Offsets {
  /** By partition. */
  readonly ends: readonly number[];
  /** The group's committed offsets; 0 where it has none. */
  readonly committed: readonly number[];
}

/** Reads the offsets from a running broker. */
export async function offsetsOf(bootstrap: string, topic: string, group: string): Promise<Offsets> {
  const client = await loadClient();
  const consumer = new client.Consumer({
    clientId: "test",
    bootstrapBrokers: [bootstrap],
    groupId: group,
    retries: 0,
  });
  try {
    const ends = ((await consumer.listOffsets({ topics: [topic] })).get(topic) ?? []).map(Number);
    const partitions = ends.map((_, partition) => partition);
    const found = await consumer.listCommittedOffsets({ topics: [{ topic, partitions }] });
    const committed = partitions.map((at) => Math.max(0, Number(found.get(topic)?.[at] ?? 0n)));
    return { ends, committed };
  } finally {
    await closeQuietly(consumer);
  }
}

/** Rows by GPU and time: the number of duplicates, and of rows that differ from the log. */
export interface ArrivedRows {
  readonly times: ReadonlyMap<string, ReadonlySet<number>>;
  readonly again: number;
  readonly wrong: number;
}

type Row = readonly [uuid: string, timeMs: number, watts: unknown, celsius: unknown];

function arrivedOf(rows: readonly Row[]): ArrivedRows {
  const times = new Map<string, Set<number>>();
  let wrong = 0;
  for (const [uuid, timeMs, watts, celsius] of rows) {
    times.set(uuid, (times.get(uuid) ?? new Set()).add(timeMs));
    if (watts !== wattsAt(timeMs) || celsius !== celsiusAt(timeMs)) wrong++;
  }
  const unique = [...times.values()].reduce((sum, { size }) => sum + size, 0);
  return { times, again: rows.length - unique, wrong };
}

export async function readLake(address: string): Promise<ArrivedRows> {
  const files = await openFiles(address, process.env);
  const rows: Row[] = [];
  try {
    for (const { path: name, bytes } of await listLake(files, "gpu")) {
      const opened = await openFile(files, name, bytes);
      const read = await opened.rows(0, opened.rowCount);
      const uuids = read.texts.find((column) => column.name === "uuid");
      const number = (column: string, row: number): number | undefined =>
        read.numbers.find((one) => one.name === column)?.values[row];
      for (let row = 0; row < read.count; row++)
        rows.push([
          uuids?.dictionary[uuids.index[row] ?? -1] ?? "",
          read.times[row] ?? Number.NaN,
          number("gpu_power_watts", row),
          number("gpu_temperature_celsius_edge", row),
        ]);
    }
  } finally {
    files.close();
  }
  return arrivedOf(rows);
}

export async function readInflux(influx: RunningInfluxDb, database: string): Promise<ArrivedRows> {
  const series = await influx.query(
    "SELECT board_power, gpu_temperature FROM gpu_metrics GROUP BY uuid",
    database,
  );
  return arrivedOf(
    series.flatMap(({ tags, values }) =>
      values.map(([time, watts, celsius]): Row => [
        tags?.["uuid"] ?? "",
        Number(time),
        watts,
        celsius,
      ]),
    ),
  );
}

export interface DeadLetterMessage {
  readonly headers: string;
  readonly content: string;
}

/** Parses the output of Kafka's own consumer with `print.headers=true`. */
export const lettersOf = (stdout: string): DeadLetterMessage[] =>
  stdout
    .split("\n")
    .filter((line) => line.includes("\t"))
    .map((line) => {
      const at = line.indexOf("\t");
      return { headers: line.slice(0, at), content: line.slice(at + 1).trim() };
    });
