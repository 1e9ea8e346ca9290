/** Which GPUs and tasks are shown, and in which order: the filter's words and the sort. Pure. */
import { type Gpu, keyOf, severity } from "./gpu.ts";
import type { Picture } from "./picture.ts";
import { type GpuTask, podOf, taskName } from "./process.ts";

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

/** Names read from A, numbers from the largest. */
export const startsDescending = (key: GpuSort | TaskSort): boolean =>
  ["util", "memory", "power", "temp", "clock", "state"].includes(key);

/** A number, a name, or why there is no number. */
type Sortable = number | string;

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
    const texts = new Map(gpus.map((gpu) => [keyOf(gpu.device), gpuText(gpu)]));
    tasks = tasks.filter((task) =>
      holds(`${taskText(task)} ${texts.get(keyOf(task)) ?? ""}`, words),
    );
    const used = new Set(tasks.map(keyOf));
    gpus = gpus.filter(
      ({ device }) => used.has(keyOf(device)) || holds(texts.get(keyOf(device)) ?? "", words),
    );
  }
  return { gpus: sortGpus(gpus, gpuSort), tasks: sortTasks(tasks, taskSort) };
}

const holds = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(word));

function gpuText({ device, row, state, words }: Gpu): string {
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
    ...words.map(({ text }) => text),
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
  const value = (gpu: Gpu): Sortable => {
    switch (key) {
      case "gpu":
        return gpu.device.host;
      case "model":
        return gpu.device.model;
      case "util":
        return gpu.utilization;
      case "memory":
        return gpu.memoryRatio;
      case "power":
        return gpu.power;
      case "temp":
        return gpu.temperature;
      case "clock":
        return gpu.clock;
      case "state":
        return severity(gpu);
    }
  };
  const isText = key === "gpu" || key === "model";
  return sortBy(gpus, value, isText, isDescending, (left, right) =>
    key === "gpu" && isDescending ? byPlace(right, left) : byPlace(left, right),
  );
}

const names = new Intl.Collator("en", { numeric: true });

/** Most names beside each other are the same one: the collator is slow, and not asked then. */
const compareNames = (left: string, right: string): number =>
  left === right ? 0 : names.compare(left, right);

const byPlace = (left: Gpu, right: Gpu): number =>
  compareNames(left.device.host, right.device.host) || left.device.index - right.device.index;

/** Each value is worked out once, not once a comparison. */
function sortBy<Item>(
  items: readonly Item[],
  value: (item: Item) => Sortable | undefined,
  isText: boolean,
  isDescending: boolean,
  otherwise: (left: Item, right: Item) => number,
): readonly Item[] {
  return items
    .map((item) => ({ item, by: value(item) }))
    .sort(
      (left, right) =>
        compare(left.by, right.by, isText, isDescending) || otherwise(left.item, right.item),
    )
    .map(({ item }) => item);
}

function sortTasks(
  tasks: readonly GpuTask[],
  { key, isDescending }: TopSort<TaskSort>,
): readonly GpuTask[] {
  const value = (task: GpuTask): Sortable | undefined => {
    switch (key) {
      case "memory":
        return task.memoryBytes;
      case "util":
        return task.utilization;
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
  const isText = !["memory", "util", "pid"].includes(key);
  return sortBy(
    tasks,
    value,
    isText,
    isDescending,
    (left, right) =>
      compareNames(left.host, right.host) ||
      Number(left.gpuIndex) - Number(right.gpuIndex) ||
      (left.pid ?? 0) - (right.pid ?? 0),
  );
}

/** What is not known stands last, whichever way round. */
function compare(
  left: Sortable | undefined,
  right: Sortable | undefined,
  isText: boolean,
  isDescending: boolean,
): number {
  const known = (value: Sortable | undefined): boolean =>
    isText ? value !== undefined : typeof value === "number";
  if (!known(left) || !known(right)) return Number(known(right)) - Number(known(left));
  const order = isText ? compareNames(String(left), String(right)) : Number(left) - Number(right);
  return isDescending ? -order : order;
}
