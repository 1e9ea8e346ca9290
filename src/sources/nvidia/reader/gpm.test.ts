import { expect, test } from "vitest";
import { presence } from "../../../model/presence.ts";
import type { Argument } from "../native.ts";
import { code } from "../nvml/codes.ts";
import type { Nvml } from "../nvml/library.ts";
import { gpm } from "../nvml/structs.ts";
import { createCardBuilder, type NvmlCard } from "./card.ts";
import { gpmTask } from "./gpm.ts";
import { instanceMetrics } from "./gpm-metrics.ts";
import { LatestValues } from "./latest-values.ts";

/** A driver with GPM that reports 40 % for every metric. */
const functions: Partial<Record<keyof Nvml, (...args: Argument[]) => number>> = {
  nvmlGpmQueryDeviceSupport: (_, out) => {
    (out as Buffer).writeUInt32LE(1, 4);
    return code.success;
  },
  nvmlGpmSampleAlloc: () => code.success,
  nvmlGpmMetricsGet: (request) => {
    const buffer = request as Buffer;
    for (let index = 0; index < buffer.readUInt32LE(4); index++)
      buffer.writeDoubleLE(40, gpm.headerBytes + index * gpm.metricBytes + gpm.value);
    return code.success;
  },
};

test("between its first and second sample every GPM reading is pending, not failed", () => {
  const board = new LatestValues(15_000);
  const boards = { fast: board, slow: board, static: board };
  const card = { at: 0, handle: 1, fast: [], scheduler: [] } as unknown as NvmlCard;
  const settings = { processes: false, slowEveryMs: 5_000 };
  const bench = createCardBuilder(functions as unknown as Nvml, card, boards, settings, () => 0.5);
  const task = gpmTask(bench, () => code.success, instanceMetrics);
  board.seal();
  task.run(1_000);
  expect(new Set(board.snapshot(1_000).presence)).toEqual(new Set([presence.pending]));
  expect(task.dueMs).toBe(1_250);
  task.run(1_250);
  const { presence: states, values } = board.snapshot(1_250);
  expect([new Set(states), new Set(values)]).toEqual([new Set([presence.present]), new Set([0.4])]);
});
