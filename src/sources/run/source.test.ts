import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { packArchive } from "../../formats/run/archive.ts";
import { writeTrace } from "../../formats/run/trace.ts";
import type { Frame } from "../../model/frame.ts";
import { RunSource, readRun } from "./source.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-run-source-"));
afterAll(() => rmSync(folder, { recursive: true }));
const nan = Number.NaN;
const device = (uuid: string, index: number, host: string) => ({
  uuid,
  index,
  vendor: "amd" as const,
  model: "RX",
  simulated: true,
  host,
});

async function kept(): Promise<string> {
  const devices = [device("A", 0, "one"), device("B", 0, "two")];
  const trace = new Map([
    [
      "A",
      {
        timeMs: Float64Array.of(1_000, 1_100),
        columns: new Map([
          ["gpu_power_watts", Float64Array.of(10, 11)],
          ["gpu_memory_total_bytes", Float64Array.of(nan, 5)],
        ]),
      },
    ],
    [
      "B",
      {
        timeMs: Float64Array.of(1_050),
        columns: new Map([["gpu_power_watts", Float64Array.of(20)]]),
      },
    ],
  ]);
  const { bytes } = await packArchive(
    new Map([
      ["run.json", Buffer.from(JSON.stringify({ devices }))],
      ["trace.parquet", await writeTrace(trace, devices)],
    ]),
  );
  const file = path.join(folder, "a.gpulserun");
  writeFileSync(file, bytes);
  return file;
}

const said = ({ timeMs, layout, values }: Frame): string =>
  `${timeMs} ${layout.series.map(({ metric }, at) => `${metric.name}=${values[at]}`).join(" ")}`;

test("a run's readings come as frames in the order of time, each of its machine", async () => {
  const source = new RunSource(await readRun(await kept()));
  const frames: string[] = [];
  await source.run(async (frame, about) => {
    frames.push(`${about?.host} ${said(frame)}`);
  }, new AbortController().signal);
  expect(frames).toEqual([
    "one 1000 gpu_power_watts=10 gpu_info=1",
    "two 1050 gpu_power_watts=20 gpu_info=1",
    "one 1100 gpu_power_watts=11 gpu_memory_total_bytes=5",
  ]);
});

test("a file that is not there, or no run, is said to be so", async () => {
  await expect(readRun(path.join(folder, "none"))).rejects.toThrow("does not exist");
  const file = path.join(folder, "text");
  writeFileSync(file, "text");
  await expect(readRun(file)).rejects.toThrow("not a .gpulserun file");
});
