/** Filters and sorts the GPUs and tasks on the screen. Pure. */
import {
  clock,
  type Gpu,
  gpuId,
  memoryRatio,
  numberOf,
  read,
  temperature,
} from "../../view/gpu.ts";
import type { Picture } from "./picture.ts";
import { type GpuTask, podOf, taskName } from "./process.ts";
import { severity, statusBadges } from "../../view/gpu-status.ts";
import { compareGpus, compareNames, sortBy, type SortValue } from "../../view/sort.ts";

export const gpuSorts = [
  "gpu",
  "model",
  "util",
  "memory",
  "power",
  "temp",
  "clock",
  "state",
] as const;
export type GpuSort = (typeof gpuSorts)[number];
export const taskSorts = [
  "memory",
  "util",
  "gpu",
  "pid",
  "name",
  "user",
  "container",
  "pod",
] as const;
export type TaskSort = (typeof taskSorts)[number];

export interface TopSort<Key> {
  readonly key: Key;
  readonly isDescending: boolean;
}

/** Names sort in ascending order, numbers in descending order. */
export const startsDescending = (key: GpuSort | TaskSort): boolean =>
  ["util", "memory", "power", "temp", "clock", "state"].includes(key);

export interface VisibleItems {
  readonly gpus: readonly Gpu[];
  readonly tasks: readonly GpuTask[];
}

export function arrange(
  picture: Picture,
  filter: string,
  gpuSort: TopSort<GpuSort>,
  taskSort: TopSort<TaskSort>,
): VisibleItems {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  let { gpus, tasks } = picture;
  if (words.length > 0) {
    const texts = new Map(gpus.map((gpu) => [gpu.id, gpuText(gpu)]));
    tasks = tasks.filter((task) =>
      holds(`${taskText(task)} ${texts.get(gpuId(task)) ?? ""}`, words),
    );
    const used = new Set(tasks.map(gpuId));
    gpus = gpus.filter(({ id }) => used.has(id) || holds(texts.get(id) ?? "", words));
  }
  return { gpus: sortGpus(gpus, gpuSort), tasks: sortTasks(tasks, taskSort) };
}

const holds = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(word));

function gpuText(gpu: Gpu): string {
  const { device, row, state } = gpu;
  const { host, index, model, uuid, pciBusId } = device;
  return [
    host,
    `gpu${index}`,
    model,
    uuid,
    pciBusId,
    row.job,
    row.user,
    state,
    ...statusBadges(gpu).map(({ text }) => text),
    device.simulated ? "simulated" : "",
  ]
    .join(" ")
    .toLowerCase();
}

function taskText(task: GpuTask): string {
  return [taskName(task), task.pid, task.user, task.container, podOf(task), task.workload]
    .join(" ")
    .toLowerCase();
}

function sortGpus(gpus: readonly Gpu[], { key, isDescending }: TopSort<GpuSort>): readonly Gpu[] {
  const value = (gpu: Gpu): SortValue => {
    switch (key) {
      case "gpu":
        return gpu.device.host;
      case "model":
        return gpu.device.model;
      case "util":
        return numberOf(read(gpu, "utilization"));
      case "memory":
        return numberOf(memoryRatio(gpu));
      case "power":
        return numberOf(read(gpu, "power"));
      case "temp":
        return numberOf(temperature(gpu));
      case "clock":
        return numberOf(clock(gpu));
      case "state":
        return severity(gpu);
    }
  };
  return sortBy(gpus, value, isDescending, (left, right) =>
    key === "gpu" && isDescending ? compareGpus(right, left) : compareGpus(left, right),
  );
}

function sortTasks(
  tasks: readonly GpuTask[],
  { key, isDescending }: TopSort<TaskSort>,
): readonly GpuTask[] {
  const value = (task: GpuTask): SortValue => {
    switch (key) {
      case "memory":
        return numberOf(task.memoryBytes);
      case "util":
        return numberOf(task.utilization);
      case "gpu":
        return `${task.host} ${task.gpuIndex}`;
      case "pid":
        return task.pid;
      case "name":
        return taskName(task);
      case "user":
        return task.user;
      case "container":
        return task.container;
      case "pod":
        return podOf(task);
    }
  };
  return sortBy(
    tasks,
    value,
    isDescending,
    (left, right) =>
      compareNames(left.host, right.host) ||
      Number(left.gpuIndex) - Number(right.gpuIndex) ||
      (left.pid ?? 0) - (right.pid ?? 0),
  );
}
