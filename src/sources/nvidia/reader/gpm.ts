/** Activity of the chip's units by NVML's GPM: the difference of two samples, so the first value comes with the second one. */
import type { Tier } from "../../../model/catalogue/index.ts";
import { code, isUnsupported, presenceOf } from "../nvml/codes.ts";
import { gpm } from "../nvml/structs.ts";
import type { GpuMetric } from "../protocol.ts";
import type { CardBuilder } from "./card.ts";
import { nextRetryMs, type Task } from "./task.ts";

/** The second sample follows soon after the first, so that the first slow read has a value. */
const firstGapMs = 250;

export type GpmMetric = readonly [id: number, tier: Tier, metric: GpuMetric];

export function gpmTask(
  bench: CardBuilder,
  sample: (into: number) => number,
  metrics: readonly GpmMetric[],
): Task {
  const { nvml, card, boards } = bench;
  const slots = metrics.map(([, tier, metric]) => bench.slot(tier, [metric]));
  const request = Buffer.alloc(gpm.bytes);
  request.writeUInt32LE(1, 0);
  request.writeUInt32LE(metrics.length, 4);
  metrics.forEach(([id], index) =>
    request.writeUInt32LE(id, gpm.headerBytes + index * gpm.metricBytes),
  );
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

  const file = (nowMs: number): void => {
    slots.forEach((slot, index) => {
      const at = gpm.headerBytes + index * gpm.metricBytes;
      const board = boards[metrics[index]?.[1] ?? "slow"];
      const got = request.readUInt32LE(at + gpm.code);
      const percent = request.readDoubleLE(at + gpm.value);
      // A full unit comes out a hair over 100.
      if (got === code.success && percent >= 0 && percent < 102)
        board.set(slot, Math.min(1, percent / 100), nowMs);
      else board.absent(slot, presenceOf(got === code.success ? 999 : got), nowMs);
    });
  };

  const task: Task = {
    name: "gpm",
    everyMs: bench.settings.slowEveryMs,
    dueMs: 0,
    costMs: 0,
    needsAnother: () => samples === 1,
    run: (nowMs) => {
      if (nowMs < retryAtMs) return code.notSupported;
      const got = measure(nowMs);
      if (got === code.success) {
        if (samples >= 2) file(nowMs);
        return got;
      }
      for (const [index, slot] of slots.entries())
        boards[metrics[index]?.[1] ?? "slow"].absent(slot, presenceOf(got), nowMs);
      if (isUnsupported(got)) retryAtMs = nextRetryMs(nowMs, bench.random);
      return got;
    },
  };
  return task;
}
