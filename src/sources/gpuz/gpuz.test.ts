import {
  appendFile,
  mkdtemp,
  rename,
  rm,
  truncate,
  writeFile,
  open,
  unlink,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import {
  gpuzBytes,
  headerLine,
  radeonCells,
  radeonColumns,
  rowLine,
} from "../../../test/fixtures/formats/gpuz.ts";
import { createLog } from "../../base/log.ts";
import type { Frame } from "../../model/frame.ts";
import { labelValue } from "../../model/labels.ts";
import type { StreamingSource } from "../source.ts";
import { gpuz } from "./define.ts";

let folder = "";
let file = "";
let said: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-gpuz-"));
  file = join(folder, "sensors.txt");
  said = [];
});
afterEach(() => rm(folder, { recursive: true }));

const context = () => ({
  host: "pc",
  log: createLog({
    level: "debug",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (line) => said.push(line),
  }),
  nowMs: () => 0,
  sysfs: "/sys",
  procfs: "/proc",
});

async function source(options: Record<string, unknown> = {}): Promise<StreamingSource> {
  const parsed = v.parse(gpuz.options, { file, timezone: "UTC", poll: "10ms", ...options });
  return (await gpuz.create(parsed, context())) as StreamingSource;
}

/** Time and load of each frame; the load identifies the row. */
const brief = (frame: Frame): [string, number] => {
  const slot = frame.layout.series.findIndex(
    ({ metric }) => metric.name === "gpu_utilization_ratio",
  );
  return [new Date(frame.timeMs).toISOString().slice(0, 19), frame.values[slot] ?? Number.NaN];
};

async function readAll(options: Record<string, unknown> = {}) {
  const reader = await source(options);
  const frames: Frame[] = [];
  await reader.run(async (frame) => void frames.push(frame), new AbortController().signal);
  await reader.close();
  return { frames, devices: reader.devices() };
}

/** Follows until the requested number of frames has come; the test's own timeout is the limit. */
async function follow(options: Record<string, unknown> = {}) {
  const reader = await source({ follow: "true", "gpu-name": "RTX 4090", ...options });
  const stop = new AbortController();
  const frames: Frame[] = [];
  let changed = () => {};
  const running = reader.run(async (frame) => {
    frames.push(frame);
    changed();
  }, stop.signal);
  const loads = () => frames.map((frame) => brief(frame)[1]);
  return {
    async until(count: number) {
      while (frames.length < count) await new Promise<void>((resolve) => (changed = resolve));
      return loads();
    },
    loads,
    running,
    async end() {
      stop.abort();
      await running;
      await reader.close();
    },
  };
}

/** Waits for a few polls of the follower. */
const looks = () => new Promise((resolve) => setTimeout(resolve, 80));

const header = headerLine(["GPU Load [%]", "GPU Clock [MHz]"]);
const second = (count: number): string => `2024-01-14 18:41:${String(count).padStart(2, "0")}`;
const row = (count: number): string => rowLine(second(count), [count, 100]);

test("a row with a comma too few is left out, counted, and said once", async () => {
  const short = `${second(2)} ,   7      100   ,\r\n`;
  await writeFile(file, gpuzBytes(header + row(1) + short + short + row(3)));
  const reader = await source({ "gpu-name": "RTX 4090" });
  const loads: number[] = [];
  await reader.run(async (frame) => void loads.push(brief(frame)[1]), new AbortController().signal);
  expect(loads).toEqual([0.01, 0.03]);
  expect(reader.rejectedRows?.()).toBe(2);
  expect(said.filter((line) => line.includes("as many cells as its header"))).toHaveLength(1);
  await reader.close();
});

test("a finished log is read to its end, in the log's own time, and names the GPU it was given", async () => {
  await writeFile(file, gpuzBytes(header + row(1) + row(2)));
  const { frames, devices } = await readAll({ "gpu-name": "RTX 4090", timezone: "Europe/Berlin" });
  expect(frames.map(brief)).toEqual([
    ["2024-01-14T17:41:01", 0.01],
    ["2024-01-14T17:41:02", 0.02],
  ]);
  expect(devices).toMatchObject([{ vendor: "nvidia", model: "RTX 4090", index: 0 }]);
  const info = frames[0]?.layout.series.find(({ metric }) => metric.name === "gpu_info");
  expect(labelValue(info?.labels ?? [], "model")).toBe("RTX 4090");
  const again = await readAll({ "gpu-name": "RTX 4090" });
  expect(again.devices[0]?.uuid).toBe(devices[0]?.uuid);
});

test("without a name the vendor comes from the columns, and the log says that a name is missing", async () => {
  await writeFile(file, gpuzBytes(headerLine(radeonColumns) + rowLine(second(1), radeonCells)));
  const { devices } = await readAll();
  expect(devices).toMatchObject([{ vendor: "amd" }]);
  expect(said.join("")).toContain("gpu-name=");
});

test.each([
  ["rows without a header", row(1), "FILE_FORMAT", /no header line.*put the header/],
  ["another kind of text", "hello\nworld\n", "FILE_FORMAT", /not a GPU-Z sensor log/],
  ["nothing", "", "FILE_FORMAT", /is empty/],
  ["UTF-16", "\u00ff\u00feD\0a\0t\0e\0,\0", "FILE_FORMAT", /UTF-16/],
  ["no hint of a vendor", header + row(1), "SOURCE_OPTIONS", /gpu-name=/],
])("a file with %s is refused in one sentence", async (_, text, code, says) => {
  await writeFile(file, gpuzBytes(text));
  const failure = await readAll().catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(GpulseError);
  expect(failure).toMatchObject({ code });
  expect((failure as GpulseError).message).toMatch(says);
});

test("a file that is not there is named", async () => {
  await expect(readAll()).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  const options = v.parse(gpuz.options, { file });
  expect(await gpuz.doctor(options, context())).toMatchObject({ state: "not-found" });
  expect(await gpuz.doctor(v.parse(gpuz.options, {}), context())).toMatchObject({
    state: "not-found",
  });
  await expect(gpuz.create(v.parse(gpuz.options, {}), context())).rejects.toMatchObject({
    code: "SOURCE_OPTIONS",
  });
});

test("a clock set back keeps its time and is noted", async () => {
  await writeFile(file, gpuzBytes(header + row(30) + row(10) + row(31)));
  const { frames } = await readAll({ vendor: "nvidia" });
  expect(frames.map(brief).map(([time]) => time.slice(-2))).toEqual(["30", "10", "31"]);
  expect(said.join("")).toContain("went back");
});

test("following gives each row once, and keeps a half-written one back until it is whole", async () => {
  const reader = await follow();
  await looks();
  await writeFile(file, gpuzBytes(header + row(1) + row(2).slice(0, 40)));
  expect(await reader.until(1)).toEqual([0.01]);
  await looks();
  expect(reader.loads()).toEqual([0.01]);
  await appendFile(file, gpuzBytes(row(2).slice(40) + row(3)));
  expect(await reader.until(3)).toEqual([0.01, 0.02, 0.03]);
  await reader.end();
});

test("following from the end leaves out what was there, but uses its header", async () => {
  await writeFile(file, gpuzBytes(header + row(1) + row(2)));
  const reader = await follow({ from: "end" });
  await looks();
  await appendFile(file, gpuzBytes(row(3)));
  expect(await reader.until(1)).toEqual([0.03]);
  await reader.end();
});

test("a log cut to nothing and begun again is read from its start", async () => {
  await writeFile(file, gpuzBytes(header + row(1) + row(2)));
  const reader = await follow();
  await reader.until(2);
  await truncate(file, 0);
  await looks();
  await appendFile(file, gpuzBytes(header + row(3)));
  expect(await reader.until(3)).toEqual([0.01, 0.02, 0.03]);
  await reader.end();
});

test("a writer that keeps its place in a log cut short leaves a hole, and its rows are still read", async () => {
  const writer = await open(file, "w");
  const first = gpuzBytes(header + row(1) + row(2));
  await writer.write(first, 0, first.length, 0);
  const reader = await follow();
  await reader.until(2);
  await truncate(file, 0);
  const next = gpuzBytes(row(3));
  await writer.write(next, 0, next.length, first.length);
  expect(await reader.until(3)).toEqual([0.01, 0.02, 0.03]);
  await writer.close();
  await reader.end();
});

test("a log replaced by another of that name is followed there, its last rows not lost", async () => {
  await writeFile(file, gpuzBytes(header + row(1)));
  const reader = await follow();
  await reader.until(1);
  await appendFile(file, gpuzBytes(row(2)));
  await rename(file, `${file}.1`);
  await writeFile(file, gpuzBytes(header + row(3)));
  expect(await reader.until(3)).toEqual([0.01, 0.02, 0.03]);
  await unlink(file);
  await looks();
  await writeFile(file, gpuzBytes(header + row(4)));
  expect(await reader.until(4)).toEqual([0.01, 0.02, 0.03, 0.04]);
  await reader.end();
});

test("following a log without a header fails with what to do, so that readiness can say it", async () => {
  await writeFile(file, gpuzBytes(row(1)));
  const reader = await follow();
  await expect(reader.running).rejects.toMatchObject({ code: "FILE_FORMAT" });
});
