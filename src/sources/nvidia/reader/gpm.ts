/**
 * Reads the activity of the chip's units with NVML's GPM: each value is the difference of two samples, so the first value comes
 * with the second sample.
 */
import { presence } from "../../../model/presence.ts";
import { code, isUnsupported, presenceOf } from "../nvml/codes.ts";
import { gpm } from "../nvml/structs.ts";
import type { CardBuilder } from "./card.ts";
import type { GpmMetric } from "./gpm-metrics.ts";
import type { SmClock } from "./sm-clock.ts";
import { nextRetryMs, type Task } from "./task.ts";

/** The second sample is taken soon after the first, so that the first slow read has a value. */
const firstGapMs = 250;
/** Return code for a value that NVML reports as success but that is invalid. */
const unknown = 999;

export interface GpmTask extends Task {
  /** True if GPM reports this metric, or while the first values are pending. */
  reports(id: number): boolean;
  /** The slot of a metric that another call fills if GPM does not report it. */
  slotOf(id: number): number;
}

/** One call of nvmlGpmMetricsGet for all metrics: it costs the same for three as for ninety. */
export function gpmTask(
  bench: CardBuilder,
  sample: (into: number) => number,
  metrics: readonly GpmMetric[],
  /** Metrics that another call fills if GPM does not report them. */
  shared: ReadonlySet<number> = new Set(),
  /** The clock whose mean over the same samples is stored with every value. */
  clock?: SmClock,
): GpmTask {
  const { nvml, card } = bench;
  const board = bench.boards.slow;
  const slots = metrics.map(({ series }) => bench.slot("slow", series));
  const request = Buffer.alloc(gpm.bytes);
  request.writeUInt32LE(1, 0);
  request.writeUInt32LE(metrics.length, 4);
  metrics.forEach(({ id }, index) =>
    request.writeUInt32LE(id, gpm.headerBytes + index * gpm.metricBytes),
  );
  const refused = new Set<number>();
  let handles: [older: number, newer: number] | undefined;
  let samples = 0;
  let retryAtMs = 0;

  const open = (): number => {
    const support = Buffer.alloc(8);
    support.writeUInt32LE(1, 0);
    const asked = nvml.nvmlGpmQueryDeviceSupport((card.instance?.parent ?? card).handle, support);
    if (asked !== code.success) return asked;
    if (support.readUInt32LE(4) === 0) return code.notSupported;
    const out = Buffer.alloc(8);
    const made: number[] = [];
    for (let index = 0; index < 2; index++) {
      const got = nvml.nvmlGpmSampleAlloc(out);
      if (got !== code.success) return got;
      made.push(Number(out.readBigUInt64LE(0)));
    }
    handles = [made[0] ?? 0, made[1] ?? 0];
    return code.success;
  };

  const measure = (nowMs: number): number => {
    if (handles === undefined) {
      const got = open();
      if (got !== code.success) return got;
    }
    const [older, newer] = handles ?? [0, 0];
    const got = sample(older);
    if (got !== code.success) {
      samples = 0;
      return got;
    }
    handles = [newer, older];
    samples++;
    if (samples < 2) {
      task.dueMs = nowMs + firstGapMs;
      return code.success;
    }
    request.writeBigUInt64LE(BigInt(newer), gpm.firstSample);
    request.writeBigUInt64LE(BigInt(older), gpm.secondSample);
    return nvml.nvmlGpmMetricsGet(request);
  };

  const absent = (index: number, why: number, nowMs: number): void => {
    const id = metrics[index]?.id ?? 0;
    if (why === presence.unsupported) refused.add(id);
    // Another call fills this slot, with a value or its own reason for the absence.
    if (why === presence.unsupported && shared.has(id)) return;
    board.absent(slots[index] ?? 0, why, nowMs);
  };

  const file = (nowMs: number): void => {
    const at = (index: number): number => gpm.headerBytes + index * gpm.metricBytes;
    const isNamed = (index: number): boolean =>
      request.readBigUInt64LE(at(index) + gpm.name) !== 0n;
    // A library that fills no names at all does not mark unknown ids by a missing name.
    const hasNames = metrics.some((_, index) => isNamed(index));
    metrics.forEach(({ id, unit }, index) => {
      const got = request.readUInt32LE(at(index) + gpm.code);
      if (got === code.success && hasNames && !isNamed(index))
        return absent(index, presence.unsupported, nowMs);
      if (got !== code.success) return absent(index, presenceOf(got), nowMs);
      refused.delete(id);
      const value = readValue(request.readDoubleLE(at(index) + gpm.value), unit);
      if (value === undefined) absent(index, presenceOf(unknown), nowMs);
      else board.set(slots[index] ?? 0, value, nowMs);
    });
  };

  const task: GpmTask = {
    name: "gpm",
    everyMs: bench.settings.slowEveryMs,
    dueMs: 0,
    costMs: 0,
    needsAnother: () => samples === 1,
    run: (nowMs) => {
      if (nowMs < retryAtMs) return code.notSupported;
      const got = measure(nowMs);
      if (got === code.success) {
        if (clock !== undefined) clock.isUsed = true;
        if (samples >= 2) {
          file(nowMs);
          clock?.store(nowMs);
        }
        return got;
      }
      clock?.leaveOut(presenceOf(got), nowMs);
      metrics.forEach((_, index) => absent(index, presenceOf(got), nowMs));
      if (isUnsupported(got)) retryAtMs = nextRetryMs(nowMs, bench.random);
      return got;
    },
    reports: (id) => !refused.has(id),
    slotOf: (id) => slots[metrics.findIndex((metric) => metric.id === id)] ?? 0,
  };
  return task;
}

/** Returns undefined for an invalid value: negative, not a number, or a share beyond 1. */
function readValue(value: number, unit: GpmMetric["unit"]): number | undefined {
  if (!(value >= 0)) return undefined;
  if (unit === "MiB/s") return value * 1_048_576;
  // A fully used unit is reported as slightly more than 100.
  return value < 102 ? Math.min(1, value / 100) : undefined;
}
