/** The trace of a run as frames in order of time. A row contains only the values read at that instant. */
import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { openArchive } from "../../formats/run/archive.ts";
import { readTrace, type RunTrace } from "../../formats/run/trace.ts";
import { seriesOf } from "../../model/columns.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import type { Emit, StreamingSource } from "../source.ts";

interface RunReadings {
  readonly devices: readonly (Device & { readonly host: string })[];
  readonly trace: RunTrace;
}

/** The devices of run.json; its other fields are not needed here. */
const runDevicesSchema = v.looseObject({
  devices: v.array(
    v.looseObject({
      uuid: v.string(),
      index: v.number(),
      vendor: v.string(),
      model: v.string(),
      simulated: v.boolean(),
      host: v.string(),
      pciBusId: v.exactOptional(v.string()),
      driver: v.exactOptional(v.string()),
      vbios: v.exactOptional(v.string()),
      linkType: v.exactOptional(v.string()),
      parent: v.exactOptional(v.string()),
    }),
  ),
});

export async function readRun(file: string): Promise<RunReadings> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (thrown) {
    const why =
      systemCode(thrown) === "ENOENT"
        ? "does not exist"
        : `cannot be read (${formatError(thrown)})`;
    throw new GpulseError("FILE_UNREADABLE", `The run file ${file} ${why}.`, { cause: thrown });
  }
  const { entries } = await openArchive(bytes, file);
  const [json, trace] = [entries.get("run.json"), entries.get("trace.parquet")];
  if (json === undefined || trace === undefined) throw new Error("BUG: an archive without a trace");
  const checked = v.safeParse(runDevicesSchema, JSON.parse(Buffer.from(json).toString("utf8")));
  if (!checked.success)
    throw new GpulseError("RUN_FILE", `${file} does not say which GPUs its readings are of.`);
  return { devices: checked.output.devices, trace: await readTrace(trace, file) };
}

export class RunSource implements StreamingSource {
  readonly shape = "streaming";
  readonly #readings: RunReadings;

  constructor(readings: RunReadings) {
    this.#readings = readings;
  }

  devices(): readonly Device[] {
    return this.#readings.devices;
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    const { devices, trace } = this.#readings;
    const hosts = [...new Set(devices.map(({ host }) => host))];
    const machines = hosts.map((host) => {
      const own = devices.filter((device) => device.host === host);
      return {
        host,
        devices: own,
        frames: framesOf(own, trace),
        next: undefined as Frame | undefined,
      };
    });
    for (const machine of machines) machine.next = nextOf(machine.frames);
    for (;;) {
      let first: (typeof machines)[number] | undefined;
      for (const machine of machines)
        if (machine.next !== undefined && machine.next.timeMs < (first?.next?.timeMs ?? Infinity))
          first = machine;
      if (first?.next === undefined || signal.aborted) return;
      await emit(first.next, { host: first.host, devices: first.devices });
      first.next = nextOf(first.frames);
    }
  }

  close(): void {}
}

const nextOf = (frames: Iterator<Frame, undefined>): Frame | undefined => {
  const next = frames.next();
  return next.done === true ? undefined : next.value;
};

interface TraceValue {
  readonly uuid: string;
  readonly column: string;
  readonly value: number;
}

/** One frame per timestamp for all GPUs of a machine; the first one includes their identity. */
function* framesOf(
  devices: readonly (Device & { readonly host: string })[],
  trace: RunTrace,
): Generator<Frame, undefined> {
  const layouts = new Map<string, Layout>();
  const next = new Map(devices.map(({ uuid }) => [uuid, 0]));
  let isFirst = true;
  for (;;) {
    const times = devices.flatMap(({ uuid }) => trace.get(uuid)?.timeMs[next.get(uuid) ?? 0] ?? []);
    if (times.length === 0) return undefined;
    const timeMs = Math.min(...times);
    const readings: TraceValue[] = [];
    for (const { uuid } of devices) {
      const own = trace.get(uuid);
      const row = next.get(uuid) ?? 0;
      if (own?.timeMs[row] !== timeMs) continue;
      next.set(uuid, row + 1);
      for (const [column, values] of own.columns) {
        const value = values[row] ?? Number.NaN;
        if (!Number.isNaN(value) && seriesOf(column) !== undefined)
          readings.push({ uuid, column, value });
      }
    }
    yield frameOf(timeMs, readings, devices, layouts, isFirst);
    isFirst = false;
  }
}

function frameOf(
  timeMs: number,
  readings: readonly TraceValue[],
  devices: readonly (Device & { readonly host: string })[],
  layouts: Map<string, Layout>,
  withInfo: boolean,
): Frame {
  const key = `${withInfo}${readings.map(({ uuid, column }) => `${uuid} ${column}`).join("\n")}`;
  const layout = layouts.get(key) ?? layoutOf(readings, devices, withInfo);
  layouts.set(key, layout);
  const writer = new FrameWriter(layout, timeMs);
  readings.forEach(({ value }, slot) => writer.set(slot, value));
  for (let slot = readings.length; slot < layout.series.length; slot++) writer.set(slot, 1);
  return writer.finish();
}

function layoutOf(
  readings: readonly TraceValue[],
  devices: readonly (Device & { readonly host: string })[],
  withInfo: boolean,
): Layout {
  const builder = new LayoutBuilder();
  for (const { uuid, column } of readings) {
    const device = devices.find((one) => one.uuid === uuid);
    const series = seriesOf(column);
    if (device === undefined || series === undefined)
      throw new Error(`BUG: ${column} of ${uuid} came without its device`);
    builder.add(
      series.metric,
      deviceLabels(device, device.host, Object.fromEntries(series.labels)),
    );
  }
  if (withInfo)
    for (const device of devices) builder.add(gpu.info, deviceInfoLabels(device, device.host));
  return builder.build();
}
