import { expect, test } from "vitest";
import { tasksOf } from "../feed/tasks.ts";
import {
  NOW_MS,
  feedStateOf,
  deviceOf,
  pictureOf,
  rowOf,
  taskOf,
} from "../../../test/fixtures/top/top.ts";
import { arrange, type GpuSort, type TaskSort } from "./arrange.ts";
import { gpuId, gpuOf, temperatureLimit, temperatureRatio } from "../../view/gpu.ts";
import { treeLines } from "./process.ts";
import { temperatureLevel } from "../../view/gpu-status.ts";

const order = (key: GpuSort, isDescending: boolean): number[] =>
  arrange(
    pictureOf({ gpus: 8 }),
    "",
    { key, isDescending },
    { key: "pid", isDescending: false },
  ).gpus.map(({ device }) => device.index);

test.each<[GpuSort, boolean, number[]]>([
  ["gpu", false, [0, 1, 2, 3, 4, 5, 6, 7]],
  ["gpu", true, [7, 6, 5, 4, 3, 2, 1, 0]],
  ["util", true, [5, 2, 7, 1, 0, 3, 4, 6]],
  ["util", false, [0, 1, 7, 2, 5, 3, 4, 6]],
  ["state", true, [3, 5, 6, 0, 1, 2, 4, 7]],
])("sorted by %s, descending %s: what is not known stands last", (key, isDescending, wanted) => {
  expect(order(key, isDescending)).toEqual(wanted);
});

test.each<[TaskSort, boolean, number[]]>([
  ["memory", true, [30, 20, 10]],
  ["pid", false, [10, 20, 30]],
  ["user", false, [20, 30, 10]],
])("processes by %s", (key, isDescending, wanted) => {
  const tasks = [taskOf(10), taskOf(20, { user: "ada" }), taskOf(30, { user: "ben" })];
  const arranged = arrange(
    pictureOf({ gpus: 1, tasks }),
    "",
    { key: "gpu", isDescending: false },
    { key, isDescending },
  );
  expect(arranged.tasks.map(({ pid }) => pid)).toEqual(wanted);
});

test.each([
  [{ temperatureEdge: 60, temperatureMargin: 20 }, 0.75, undefined],
  [{ temperatureEdge: 60, temperatureMargin: 4 }, 0.9375, "warn"],
  [{ temperatureEdge: 60, temperatureMargin: -1 }, 1, "bad"],
] as const)(
  "a card that reports a margin and no limit: %j is at %d, %s",
  (values, ratio, level) => {
    const device = deviceOf(0, { gpus: 1 });
    const card = { ...device, facts: { ...device.facts, limitSlowdown: "unsupported" } } as const;
    const gpu = gpuOf(card, rowOf({ up: 1, ...values }), NOW_MS);
    expect([temperatureRatio(gpu), temperatureLevel(gpu), temperatureLimit(gpu)]).toEqual([
      ratio,
      level,
      "unsupported",
    ]);
  },
);

test("a process that is only named has neither memory nor share, and is listed", () => {
  const labels = { uuid: "GPU-0000", pid: "7", process: "render.exe", kind: "both" };
  const [task] = tasksOf([{ metric: "gpu_process_info", labels, value: 1 }], []);
  expect(task).toMatchObject({
    pid: 7,
    name: "render.exe",
    memoryBytes: "unsupported",
    utilization: "unsupported",
  });
});

test("a filter that a process matches keeps its GPU too", () => {
  const tasks = [taskOf(10, { user: "ada", uuid: "GPU-0002" }), taskOf(20, { user: "ben" })];
  const arranged = arrange(
    pictureOf({ gpus: 8, tasks }),
    "ADA",
    { key: "gpu", isDescending: false },
    { key: "pid", isDescending: false },
  );
  expect(arranged.gpus.map(({ device }) => device.index)).toEqual([2]);
  expect(arranged.tasks.map(({ pid }) => pid)).toEqual([10]);
});

test("a tree hangs processes on their parents, and elsewhere on host and pod", () => {
  const init = { pid: 1, name: "init" };
  const shell = { pid: 5, name: "bash" };
  const lines = treeLines([
    taskOf(10, { ancestors: [shell, init] }),
    taskOf(11, { ancestors: [{ pid: 10, name: "python" }, shell, init] }),
    taskOf(12, { pod: "p", namespace: "n" }),
  ]);
  const drawn = lines.map(({ task, label, depth }) => `${depth.join(" ")}:${task?.pid ?? label}`);
  expect(drawn).toEqual([
    ":init 1",
    "last:bash 5",
    "blank last:10",
    "blank blank last:11",
    ":node1",
    "last:n/p",
    "blank last:12",
  ]);
});

test("curves have a point a reading, bridge one missed second and show a longer gap", () => {
  const board = feedStateOf({ gpus: 1 });
  const { gpus } = board.picture(NOW_MS);
  const update = (afterMs: number): void =>
    board.update(
      {
        devices: gpus.map(({ device }) => device),
        rows: [rowOf({ up: 1, utilization: 1 })],
        timeMs: NOW_MS + afterMs,
        problems: [],
        tasks: [],
      },
      NOW_MS + afterMs,
    );
  update(2_000);
  update(6_000);
  const [gpu] = gpus;
  if (gpu === undefined) throw new Error("BUG: the fixture has no GPU");
  const points = board.picture(NOW_MS + 6_000).history(gpu.device, "utilization", 7);
  expect(points.map((point) => point !== null)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
    true,
  ]);
});

test("GPUs of two hosts with one uuid keep curves, processes and the choice apart", () => {
  const { gpus } = pictureOf({ gpus: 2 });
  const devices = gpus.map(({ device }, at) => ({ ...device, uuid: "A", host: `ws-${at}` }));
  const board = feedStateOf({ gpus: 0 });
  const rows = [1, 0.1].map((utilization) => rowOf({ up: 1, utilization }));
  board.update({ devices, rows, timeMs: NOW_MS, problems: [], tasks: [] }, NOW_MS);
  const picture = board.picture(NOW_MS);
  expect(devices.map((device) => picture.history(device, "utilization", 1))).toEqual([[1], [0.1]]);
  const readings = ["ws-0", "ws-1"].map((host) => ({
    metric: "gpu_process_memory_bytes",
    labels: { host, uuid: "A", gpu: "0", pid: "42" },
    value: 1,
  }));
  expect(tasksOf(readings, devices).map((task) => [task.host, gpuId(task)])).toEqual(
    devices.map((device) => [device.host, gpuId(device)]),
  );
});
