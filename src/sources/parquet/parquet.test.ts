import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FolderFiles } from "../../net/objects/folder.ts";
import { gpuzBytes, headerLine, rowLine } from "../../../test/fixtures/formats/gpuz.ts";
import { Lake } from "../../lake/lake.ts";
import { createLog } from "../../base/log.ts";
import { gpu, host } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { openSources } from "../open.ts";
import type { StreamFrameInfo, SourceContext, StreamingSource } from "../source.ts";
import { ObjectSource } from "./objects.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-read-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const context: SourceContext = {
  host: "here",
  log: createLog({ level: "error", json: false, colour: false, nowMs: () => 0, write: () => {} }),
  nowMs: () => 0,
  sysfs: "/sys",
  procfs: "/proc",
};
const signal = new AbortController().signal;
const day = Date.UTC(2026, 0, 15);

async function writeLake(): Promise<void> {
  const lake = new Lake({
    files: new FolderFiles(folder),
    name: "h",
    version: "0",
    log: context.log,
    nowMs: () => day,
    random: () => 0,
    merge: "none",
  });
  for (const uuid of ["B", "A"])
    for (let at = 0; at < 3; at++) {
      const builder = new LayoutBuilder();
      const labels = { uuid, gpu: "2", host: "far" };
      builder.add(gpu.power, labelSet(labels));
      builder.add(gpu.temperature, labelSet({ ...labels, sensor: "edge" }));
      builder.add(host.memoryUsed, labelSet({ host: "far" }));
      builder.add(gpu.xidErrors, labelSet({ ...labels, xid: "79" }));
      const frame = new FrameWriter(builder.build(), day + (at - 1) * 1_000);
      frame.set(0, 100 + at);
      frame.absent(1, "asleep");
      frame.set(2, 4_096);
      frame.set(3, 1);
      lake.put({
        frame: frame.finish(),
        devices: [{ uuid, index: 2, vendor: "intel", model: "B580", simulated: true }],
        host: "far",
        tags: at === 2 ? new Map([[uuid, ["hot"]]]) : undefined,
      });
    }
  await lake.close(signal);
}

async function read(source: StreamingSource): Promise<string[]> {
  const found: string[] = [];
  await source.run(async ({ timeMs, layout, values }, about: StreamFrameInfo = {}) => {
    const text = layout.series.map(({ metric, suffix, labels }, slot) => {
      const all = labels.map(([name, value]) => `${name}=${value}`).join();
      return `${metric.name}${suffix}{${all}}=${values[slot]}`;
    });
    const tags = [...(about.tags ?? [])].map(([uuid, names]) => ` ${uuid}:${names.join()}`).join();
    const of = about.devices
      ?.map(({ model, simulated }) => `${model}${simulated ? "*" : ""}`)
      .join();
    found.push(`${timeMs - day} ${about.host ?? "-"} ${of} ${text.join(" ")}${tags}`);
  }, signal);
  await source.close();
  return found;
}

async function from(url: string): Promise<string[]> {
  const [opened] = await openSources([url], context);
  return read(opened?.source as StreamingSource);
}

const power = (uuid: string, at: number): string =>
  `${(at - 1) * 1_000} far B580* gpu_power_watts{gpu=2,host=far,uuid=${uuid}}=${100 + at} host_memory_used_bytes{host=far}=4096`;
const xid = (uuid: string, at: number): string =>
  `${(at - 1) * 1_000} far  gpu_xid_errors_total{gpu=2,host=far,uuid=${uuid},xid=79}=1`;

test("a lake is read back as it was written, in the order of time, without what was absent", async () => {
  await writeLake();
  expect(await from(`parquet:${folder}`)).toEqual([
    power("A", 0),
    power("B", 0),
    xid("A", 0),
    xid("B", 0),
    power("A", 1),
    power("B", 1),
    `${power("A", 2)} A:hot`,
    `${power("B", 2)} B:hot`,
    xid("A", 1),
    xid("B", 1),
    xid("A", 2),
    xid("B", 2),
  ]);
});

test("days, the long table and tags can be left out", async () => {
  await writeLake();
  expect(await from(`parquet:${folder}?start=2026-01-15&series=false&tags=false`)).toEqual([
    power("A", 1),
    power("B", 1),
    power("A", 2),
    power("B", 2),
  ]);
});

test("one file is read alone", async () => {
  await writeLake();
  const [name] = await readdir(join(folder, "gpu/date=2026-01-14"));
  expect(await from(`parquet:${folder}/gpu/date=2026-01-14/${name}`)).toEqual([
    power("A", 0),
    power("B", 0),
  ]);
});

test("the folder of one day is that day of the GPU table", async () => {
  await writeLake();
  expect(await from(`parquet:${folder}/gpu/date=2026-01-14/`)).toEqual([
    power("A", 0),
    power("B", 0),
  ]);
});

test.each([
  ["parquet:", "SOURCE_OPTIONS", /write parquet:DIR/],
  ["parquet:/no/such/place", "FILE_UNREADABLE", /no folder or file/],
  ["s3:", "SOURCE_OPTIONS", /s3:\/\/BUCKET/],
])("%s is refused with what to do", async (url, code, says) => {
  await expect(from(url)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(says) as unknown,
  });
});

test("a folder without a lake, and a file that is no Parquet, say so", async () => {
  await expect(from(`parquet:${folder}`)).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  await writeFile(join(folder, "x.parquet"), "hello");
  await expect(from(`parquet:${folder}/x.parquet`)).rejects.toMatchObject({ code: "FILE_FORMAT" });
});

test("of objects, the lake, logs and CSV are each read for what they are", async () => {
  await writeLake();
  await mkdir(join(folder, "logs"));
  await writeFile(
    join(folder, "logs", "GPU-Z Sensor Log.txt"),
    gpuzBytes(headerLine(["GPU Load [%]"]) + rowLine("2026-01-16 00:00:01", [50])),
  );
  await writeFile(
    join(folder, "logs", "power.csv"),
    "__name__,uuid,time,value\ngpu_power_watts,C,2026-01-17T00:00:00.000Z,7\n",
  );
  await writeFile(join(folder, "logs", "picture.png"), "");
  const options = { series: false, tags: true, "gpu-name": "RTX 4090", timezone: "UTC" };
  const found = await read(new ObjectSource(new FolderFiles(folder), options, context));
  expect(found).toHaveLength(8);
  expect(found[6]).toContain("RTX 4090 gpu_up");
  expect(found[6]).toContain("=0.5");
  expect(found[7]).toContain("gpu_power_watts{uuid=C}=7");
});
