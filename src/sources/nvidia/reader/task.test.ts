import { expect, test } from "vitest";
import { code } from "../nvml/codes.ts";
import type { Nvml } from "../nvml/library.ts";
import { fieldValue } from "../nvml/structs.ts";
import { LatestValues } from "./latest-values.ts";
import type { NvmlCard } from "./card.ts";
import { FieldBatch } from "./fields.ts";
import { ReadTask } from "./task.ts";

const middle = (): number => 0.5;

function boardWith(series: number): LatestValues {
  const board = new LatestValues(15_000);
  for (let at = 0; at < series; at++) board.add("power", 0, { at: String(at) });
  board.seal();
  return board;
}

const states = (board: LatestValues, nowMs: number): number[] => [
  ...board.snapshot(nowMs).presence,
];

test("a reading that is not supported is left alone for a minute, then asked again, and never off for good", () => {
  const board = boardWith(1);
  let calls = 0;
  let answer: number = code.notSupported;
  const reading = new ReadTask(
    "power",
    0,
    { board, slots: [0] },
    (out) => {
      calls++;
      out[0] = 250;
      return answer;
    },
    middle,
  );
  reading.run(0);
  reading.run(30_000);
  expect([calls, states(board, 30_000)]).toEqual([1, [1]]);
  answer = code.success;
  reading.run(59_000);
  expect(states(board, 59_000)).toEqual([1]);
  reading.run(60_000);
  expect([calls, states(board, 60_000), board.value(0)]).toEqual([2, [0], 250]);
});

test("a reading that failed is asked again at once: one bad answer is one gap", () => {
  const board = boardWith(1);
  const answers = [code.timeout, code.success];
  const reading = new ReadTask(
    "power",
    0,
    { board, slots: [0] },
    (out) => {
      out[0] = 1;
      return answers.shift() ?? code.success;
    },
    middle,
  );
  reading.run(0);
  expect(states(board, 0)).toEqual([4]);
  reading.run(1);
  expect(states(board, 1)).toEqual([0]);
});

test("a value nobody read for too long is failed, not repeated", () => {
  const board = boardWith(1);
  board.set(0, 7, 1_000);
  expect(states(board, 16_000)).toEqual([0]);
  expect(states(board, 16_001)).toEqual([4]);
});

test("of a batch only the fields worth asking are asked; each comes back by itself", () => {
  const board = boardWith(3);
  const asked: number[][] = [];
  const supported = new Map([
    [1, true],
    [2, false],
    [3, true],
  ]);
  const nvml = {
    nvmlDeviceGetFieldValues: (_handle: number, count: number, buffer: Buffer): number => {
      const ids = Array.from({ length: count }, (_, at) =>
        buffer.readUInt32LE(at * fieldValue.bytes),
      );
      asked.push(ids);
      ids.forEach((id, at) => {
        const got = supported.get(id) === true ? code.success : code.notSupported;
        buffer.writeUInt32LE(got, at * fieldValue.bytes + fieldValue.code);
        buffer.writeUInt32LE(1, at * fieldValue.bytes + fieldValue.type);
        buffer.writeUInt32LE(id * 10, at * fieldValue.bytes + fieldValue.value);
      });
      return code.success;
    },
  } as unknown as Nvml;
  const fields = [1, 2, 3].map((id) => ({ id, slot: id - 1 }));
  const batch = new FieldBatch(
    { name: "fields", everyMs: 0, board, fields },
    nvml,
    { handle: 1 } as NvmlCard,
    middle,
  );
  batch.run(0);
  batch.run(1_000);
  expect(states(board, 1_000)).toEqual([0, 1, 0]);
  supported.set(2, true);
  batch.run(59_999);
  batch.run(60_000);
  batch.run(61_000);
  expect(asked).toEqual([
    [1, 2, 3],
    [1, 3],
    [1, 3],
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect([states(board, 61_000), board.value(1)]).toEqual([[0, 0, 0], 20]);
});
