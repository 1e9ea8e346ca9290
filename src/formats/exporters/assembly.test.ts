import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { labelSet } from "../../model/labels.ts";
import type { SampleBatch } from "../samples/batch.ts";
import { BatchBuilder } from "../samples/builder.ts";
import { FrameAssembly } from "./assembly.ts";
import { ExporterFrames } from "./frames.ts";
import { findGpuSeries } from "./names.ts";
import { exporterNames } from "./list.ts";
import type { ExporterFrame } from "./targets.ts";

const startMs = 1_700_000_000_000;
const names = ["DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_SM_CLOCK"] as const;

interface SampleOptions {
  readonly uuid?: string;
  readonly host?: string;
  readonly instance?: string;
}

function request(
  timeMs: number,
  samples: readonly (readonly [name: string, value: number])[],
  { uuid = "GPU-a", host = "n1", instance = "n1:9400" }: SampleOptions = {},
): SampleBatch {
  const builder = new BatchBuilder();
  for (const [name, value] of samples)
    builder.add(
      builder.series(
        labelSet({
          __name__: name,
          UUID: uuid,
          gpu: "0",
          modelName: "NVIDIA L4",
          Hostname: host,
          job: "dcgm",
          instance,
        }),
      ),
      timeMs,
      value,
    );
  return builder.finish();
}

const drain = (assembly: FrameAssembly, nowMs: number) =>
  [...assembly.ready(nowMs)].map(({ frames, isLate }) => ({ frame: frames[0], isLate }));

const valuesOf = ({ frame }: ExporterFrame): Record<string, number> =>
  Object.fromEntries(
    frame.layout.series.map(({ metric }, slot) => [metric.name, frame.values[slot] ?? NaN]),
  );

test("an instant that comes in parts is one frame, the same as from one page", () => {
  const assembly = new FrameAssembly();
  const parts = names.map((name, at) => request(startMs, [[name, 10 + at]]));
  parts.forEach((part, at) => assembly.add(part, startMs + at * 1_000));
  expect(drain(assembly, startMs + 5_000)).toEqual([]);
  const [found, ...others] = drain(assembly, startMs + 9_000);
  expect(others).toEqual([]);
  const whole = new ExporterFrames().frames(
    request(
      startMs,
      names.map((name, at) => [name, 10 + at]),
    ),
  );
  expect(found).toEqual({ frame: whole[0], isLate: false });
  expect(assembly.isEmpty).toBe(true);
});

test("an instant with as many samples as the one before does not wait", () => {
  const assembly = new FrameAssembly();
  assembly.add(
    request(
      startMs,
      names.map((name) => [name, 1]),
    ),
    startMs,
  );
  expect(drain(assembly, startMs + 6_000)).toHaveLength(1);
  const nextMs = startMs + 15_000;
  assembly.add(request(nextMs, [[names[0], 2]]), nextMs);
  expect(drain(assembly, nextMs)).toEqual([]);
  assembly.add(
    request(nextMs, [
      [names[1], 2],
      [names[2], 2],
    ]),
    nextMs,
  );
  const [found] = drain(assembly, nextMs);
  expect(found?.frame && valuesOf(found.frame)).toMatchObject({ gpu_power_watts: 2 });
});

test("what comes after its instant was complete is late, and the next instant waits for it", () => {
  const assembly = new FrameAssembly();
  assembly.add(request(startMs, [[names[0], 1]]), startMs);
  expect(drain(assembly, startMs + 6_000)).toMatchObject([{ isLate: false }]);
  assembly.add(request(startMs, [[names[1], 50]]), startMs + 7_000);
  expect(drain(assembly, startMs + 13_000)).toMatchObject([{ isLate: true }]);
  const nextMs = startMs + 15_000;
  assembly.add(request(nextMs, [[names[0], 2]]), nextMs);
  expect(drain(assembly, nextMs)).toEqual([]);
  assembly.add(request(nextMs, [[names[1], 2]]), nextMs);
  expect(drain(assembly, nextMs)).toHaveLength(1);
});

test("a backlog is read in order of time, and no instant waits longer than 15 s", () => {
  const assembly = new FrameAssembly();
  for (let at = 9; at >= 0; at--)
    assembly.add(request(startMs + at * 1_000, [[names[0], at]]), startMs);
  const times = (nowMs: number) =>
    drain(assembly, nowMs).map(({ frame }) => ((frame?.frame.timeMs ?? 0) - startMs) / 1_000);
  expect(times(startMs)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (let at = 0; at < 20; at++)
    assembly.add(
      request(startMs + 60_000, [["DCGM_FI_DEV_FB_USED", 1]], { instance: "n2:9400" }),
      startMs + at * 1_000,
    );
  expect(times(startMs + 15_000)).toEqual([60]);
});

test("hosts that a sender mixes in one request are frames of their own", () => {
  const assembly = new FrameAssembly();
  for (const host of ["a", "b"])
    assembly.add(
      request(startMs, [[names[0], 1]], { host, uuid: `GPU-${host}`, instance: "proxy:1" }),
      startMs,
    );
  const [found] = [...assembly.ready(startMs + 6_000)];
  expect(found?.frames.map(({ host }) => host)).toEqual(["a", "b"]);
});

test("samples that wait are limited, and those beyond are counted", () => {
  const assembly = new FrameAssembly({ waitingSamples: 2 });
  assembly.add(
    request(
      startMs,
      names.map((name) => [name, 1]),
    ),
    startMs,
  );
  expect(assembly.ignored).toBe(1);
  const [found] = drain(assembly, startMs + 6_000);
  expect(found?.frame?.frame.layout.series.filter(({ metric }) => metric === gpu.clock)).toEqual(
    [],
  );
});

test("every name of every table is picked out of a request, and others are not looked at twice", () => {
  const builder = new BatchBuilder();
  const all = [...exporterNames.keys(), "gpu_power_watts", "host_cpu_cores"];
  for (const name of all)
    builder.series(labelSet({ __name__: name, UUID: "GPU-a", long: "x".repeat(200) }));
  expect(findGpuSeries(builder.finish())).toHaveLength(all.length);
  const other = new BatchBuilder();
  const count = 1_000;
  for (let at = 0; at < count; at++)
    other.series(labelSet({ __name__: `http_requests_${at}_total`, code: "200", job: "web" }));
  expect(findGpuSeries(other.finish()).length).toBeLessThan(count / 50);
});
