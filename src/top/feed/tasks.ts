/**
 * Extracts processes and owners from frames or from a hub's response. A GPU shows its processes if they are reported, otherwise its
 * owners.
 */
import type { WireDevice, WireValue } from "../../view/live/protocol.ts";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import { presenceNames } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { gpuId } from "../../view/gpu.ts";
import type { GpuTask } from "../model/process.ts";

export const taskMetrics: readonly MetricEntry[] = [
  gpu.processInfo,
  gpu.processMemory,
  gpu.processUtilization,
  gpu.ownerInfo,
  gpu.ownerMemory,
  gpu.ownerUtilization,
];
const processNames: ReadonlySet<string> = new Set(
  [gpu.processInfo, gpu.processMemory, gpu.processUtilization].map(({ name }) => name),
);
const wanted = new Map(taskMetrics.map((metric) => [metric.name, metric]));

export interface TaskReading {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: WireValue;
}

const slots = new WeakMap<
  Layout,
  readonly { slot: number; reading: Omit<TaskReading, "value"> }[]
>();

/** A layout never changes, so the slots of its processes are searched once. */
function slotsOf(layout: Layout): readonly { slot: number; reading: Omit<TaskReading, "value"> }[] {
  const kept = slots.get(layout);
  if (kept !== undefined) return kept;
  const found = layout.series.flatMap(({ metric, labels }, slot) =>
    wanted.has(metric.name)
      ? [{ slot, reading: { metric: metric.name, labels: Object.fromEntries(labels) } }]
      : [],
  );
  slots.set(layout, found);
  return found;
}

function readingsOf(deliveries: readonly Delivery[]): TaskReading[] {
  return deliveries.flatMap(({ frame }) =>
    slotsOf(frame.layout).flatMap(({ slot, reading }) => {
      const state = presenceNames[frame.presence[slot] ?? -1] ?? "failed";
      if (state === "ended" || state === "pending") return [];
      const value = state === "present" ? (frame.values[slot] ?? "failed") : state;
      return [{ ...reading, value }];
    }),
  );
}

/** Processes arrive on the slow tier: between two of its frames the cached result is reused. */
export class TaskMemory {
  #frames: readonly Frame[] = [];
  #devices: readonly WireDevice[] = [];
  #tasks: readonly GpuTask[] = [];

  of(deliveries: readonly Delivery[], devices: readonly WireDevice[]): readonly GpuTask[] {
    const withTasks = deliveries.filter(({ frame }) => slotsOf(frame.layout).length > 0);
    const isSame =
      devices === this.#devices &&
      withTasks.length === this.#frames.length &&
      withTasks.every(({ frame }, at) => frame === this.#frames[at]);
    if (!isSame) {
      this.#frames = withTasks.map(({ frame }) => frame);
      this.#devices = devices;
      this.#tasks = tasksOf(readingsOf(withTasks), devices);
    }
    return this.#tasks;
  }
}

interface TaskBuilder {
  readonly labels: Readonly<Record<string, string>>;
  memoryBytes: WireValue;
  utilization: WireValue;
}

type KnownDevice = Pick<WireDevice, "uuid" | "host" | "index">;

export function tasksOf(
  readings: readonly TaskReading[],
  devices: readonly KnownDevice[],
): GpuTask[] {
  const known = new Map(devices.map((device) => [gpuId(device), device]));
  const byUuid = new Map(devices.map((device) => [device.uuid, device]));
  const deviceOf = ({ host, uuid = "" }: TaskReading["labels"]): KnownDevice | undefined =>
    host === undefined ? byUuid.get(uuid) : known.get(gpuId({ host, uuid }));
  const processes = new Map<string, TaskBuilder>();
  const owners = new Map<string, TaskBuilder>();
  for (const { metric, labels, value } of readings) {
    const isProcess = processNames.has(metric);
    const { host = "", uuid = "", pid = "", namespace, pod, container, workload, user } = labels;
    const key = isProcess
      ? `${host} ${uuid} ${pid}`
      : [host, uuid, namespace, pod, container, workload, user].join(" ");
    const list = isProcess ? processes : owners;
    const draft = list.get(key) ?? {
      labels,
      memoryBytes: "unsupported",
      utilization: "unsupported",
    };
    list.set(key, draft);
    if (metric === gpu.processMemory.name || metric === gpu.ownerMemory.name)
      draft.memoryBytes = value;
    else if (metric === gpu.processUtilization.name || metric === gpu.ownerUtilization.name)
      draft.utilization = value;
  }
  const gpuOf = ({ labels }: TaskBuilder): string =>
    gpuId({ host: labels["host"] ?? "", uuid: labels["uuid"] ?? "" });
  const withProcesses = new Set([...processes.values()].map(gpuOf));
  const drafts = [
    ...processes,
    ...[...owners].filter(([, draft]) => !withProcesses.has(gpuOf(draft))),
  ];
  return drafts.map(([key, draft]) => taskOf(key, draft, deviceOf(draft.labels)));
}

function taskOf(
  key: string,
  { labels, memoryBytes, utilization }: TaskBuilder,
  device: Pick<WireDevice, "host" | "index"> | undefined,
): GpuTask {
  const pid = Number(labels["pid"]);
  const text = (name: keyof GpuTask, label: string): Partial<GpuTask> =>
    labels[label] === undefined ? {} : { [name]: labels[label] };
  return {
    key,
    uuid: labels["uuid"] ?? "",
    host: device?.host ?? labels["host"] ?? "unknown",
    gpuIndex: device === undefined ? (labels["gpu"] ?? "?") : String(device.index),
    ...(Number.isInteger(pid) && pid > 0 ? { pid } : {}),
    ...text("name", "process"),
    ...text("kind", "kind"),
    ...text("container", "container"),
    ...text("pod", "pod"),
    ...text("namespace", "namespace"),
    ...text("workload", "workload"),
    ...text("user", "user"),
    memoryBytes,
    utilization,
  };
}
