/**
 * The cost of the lake: bytes per value of the wide table beside the long form and beside CSV, for a recorded H200 and for
 * simulated fleets, and the processor time of a minute of a large fleet. `npm run bench:lake`.
 */
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rowGroupRows } from "../src/lake/encode.ts";
import { runLakeJob } from "../src/lake/job.ts";
import { Gatherer } from "../src/lake/gather.ts";
import { GrowingRows, type Rows } from "../src/lake/table.ts";
import { createLog } from "../src/base/log.ts";
import { gpu, type MetricEntry } from "../src/model/catalogue/index.ts";
import type { Device } from "../src/model/device.ts";
import { type Frame, FrameWriter } from "../src/model/frame.ts";
import { labelSet } from "../src/model/labels.ts";
import { LayoutBuilder } from "../src/model/layout.ts";
import { loadRecording } from "./sim-compare/load.ts";
import { openSources } from "../src/sources/open.ts";

interface Data {
  readonly name: string;
  readonly frames: readonly Frame[];
  readonly devices: readonly Device[];
}

const captures = new URL("../src/sources/sim/captures/", import.meta.url);
const startMs = Date.UTC(2026, 0, 15);

/** Eleven readings at the recorded instants. */
function recorded(name: string): Data {
  const { rows } = loadRecording(fileURLToPath(new URL(name, captures)));
  const of = { uuid: "GPU-H200", gpu: "0", host: "h" };
  const builder = new LayoutBuilder();
  const add = (metric: MetricEntry, extra = {}): number =>
    builder.add(metric, labelSet({ ...of, ...extra }));
  const slots = {
    watts: add(gpu.power),
    utilization: add(gpu.utilization),
    memoryUtilization: add(gpu.memoryControllerUtilization),
    celsius: add(gpu.temperature, { sensor: "edge" }),
    memoryBytes: add(gpu.memoryUsed),
    smHertz: add(gpu.clock, { domain: "sm" }),
    powerCapped: add(gpu.throttleActive, { reason: "power_cap" }),
  };
  const layout = builder.build();
  const frames = rows.map((row) => {
    const writer = new FrameWriter(layout, Math.round(row.timeMs));
    for (const [key, slot] of Object.entries(slots)) {
      const value = row[key as keyof typeof slots];
      if (value !== undefined) writer.set(slot, Number(value));
    }
    return writer.finish();
  });
  return { name: `H200, recorded (${name})`, frames, devices: [] };
}

async function simulated(gpus: number, seconds: number): Promise<Data> {
  const log = createLog({
    level: "error",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: () => {},
  });
  let nowMs = startMs;
  const [opened] = await openSources([`sim:${gpus}`], {
    host: "h",
    log,
    nowMs: () => nowMs,
    sysfs: "/sys",
    procfs: "/proc",
  });
  const source = opened?.source;
  if (source?.shape !== "polled") throw new Error("BUG: the simulator is polled");
  const frames: Frame[] = [];
  const { signal } = new AbortController();
  for (let second = 0; second < seconds; second++) {
    nowMs = startMs + second * 1_000;
    frames.push(await source.read("fast", nowMs, signal));
    if (second % 5 === 0) frames.push(await source.read("slow", nowMs, signal));
    if (second % 60 === 0) frames.push(await source.read("static", nowMs, signal));
  }
  const devices = source.devices();
  await source.close();
  return { name: `${gpus} simulated GPUs, ${seconds} s`, frames, devices };
}

function gather({ frames, devices }: Data): { readonly wide: Rows; readonly cpuMs: number } {
  const rows = new GrowingRows("gpu");
  const gatherer = new Gatherer();
  const before = process.cpuUsage();
  for (const frame of frames)
    gatherer.frame({ frame, devices, host: "h" }, (table) => (table === "gpu" ? rows : undefined));
  return { wide: rows.finish(), cpuMs: cpuSince(before) };
}

const cpuSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

/** The same values, one per row, as in the long table. */
function toLong(wide: Rows): Rows {
  const rows = new GrowingRows("series");
  const uuids = wide.texts.find(({ name }) => name === "uuid");
  for (const { name, values, present } of wide.numbers) {
    if (name === "gpu" || name === "simulated") continue;
    for (let at = 0; at < wide.count; at++) {
      if (present[at] === 0) continue;
      const uuid = uuids?.dictionary[uuids.index[at] ?? 0] ?? "";
      const labels = JSON.stringify({ uuid, gpu: "0", host: "h" });
      const row = rows.row(`${name}${labels}`, wide.times[at] ?? 0);
      rows.setText(row, "name", name);
      rows.setText(row, "labels", labels);
      rows.setText(row, "host", "h");
      rows.setText(row, "uuid", uuid);
      rows.setNumber(row, "value", values[at] ?? 0);
    }
  }
  return rows.finish();
}

/** One line per row, one column per reported metric: the format of a GPU-Z log. */
function toCsv(wide: Rows): Buffer {
  const uuids = wide.texts.find(({ name }) => name === "uuid");
  const lines = [["time", "uuid", ...wide.numbers.map(({ name }) => name)].join()];
  for (let at = 0; at < wide.count; at++) {
    const cells = wide.numbers.map(({ values, present }) => (present[at] === 1 ? values[at] : ""));
    const time = new Date(wide.times[at] ?? 0).toISOString();
    lines.push([time, uuids?.dictionary[uuids.index[at] ?? 0], ...cells].join());
  }
  return Buffer.from(lines.join("\n"));
}

const groupsOf = ({ count }: Rows): number => Math.ceil(count / rowGroupRows);

/** A single row, to measure the fixed cost of a file with the same columns. */
const oneRow = (wide: Rows): Rows => ({
  ...wide,
  count: 1,
  times: wide.times.slice(0, 1),
  texts: wide.texts.map((column) => ({ ...column, index: column.index.slice(0, 1) })),
  numbers: wide.numbers.map(({ name, values, present }) => ({
    name,
    values: values.slice(0, 1),
    present: present.slice(0, 1),
  })),
});

const valueCount = ({ numbers }: Rows): number =>
  numbers
    .filter(({ name }) => name !== "gpu" && name !== "simulated")
    .reduce((sum, { present }) => sum + present.reduce((all, one) => all + one, 0), 0);

async function measure(data: Data): Promise<void> {
  const { wide } = gather(data);
  const values = valueCount(wide);
  const each = (bytes: number): string => (bytes / values).toFixed(2).padStart(6);
  const encode = async (rows: Rows): Promise<number> =>
    (await runLakeJob({ kind: "encode", rows, version: "bench" })).bytes.length;
  const [wideBytes, longBytes] = [await encode(wide), await encode(toLong(wide))];
  const csv = toCsv(wide);
  const fixed = await encode(oneRow(wide));
  console.log(`\n${data.name}: ${wide.count} rows, ${values} values`);
  console.log(
    `  wide Parquet   ${each(wideBytes)} B a value, of which ${((fixed * groupsOf(wide)) / values).toFixed(2)} for having every column`,
  );
  console.log(
    `  long Parquet   ${each(longBytes)}  ${(longBytes / wideBytes).toFixed(1)} times the wide form`,
  );
  console.log(
    `  CSV, gzipped   ${each(gzipSync(csv).length)}  ${(gzipSync(csv).length / wideBytes).toFixed(1)} times`,
  );
  console.log(`  CSV            ${each(csv.length)}  ${(csv.length / wideBytes).toFixed(1)} times`);
}

async function minute(gpus: number): Promise<void> {
  const data = await simulated(gpus, 60);
  const { wide, cpuMs } = gather(data);
  const before = process.cpuUsage();
  const { bytes } = await runLakeJob({ kind: "encode", rows: wide, version: "bench" });
  console.log(`\nA minute of ${gpus} GPUs: ${wide.count} rows, ${valueCount(wide)} values`);
  console.log(
    `  taken in       ${(cpuMs / 60).toFixed(1)} ms of processor time a second, in the hub's thread`,
  );
  console.log(
    `  encoded        ${cpuSince(before).toFixed(0)} ms of processor time, in a thread of its own`,
  );
  console.log(`  written        ${(bytes.length / 1e6).toFixed(2)} MB`);
}

for (const name of ["h200-first", "h200-mixed", "h200-unseen"]) await measure(recorded(name));
await measure(await simulated(8, 3_600));
await minute(2_000);
