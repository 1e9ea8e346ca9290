/** The state of the user interface: page, sort, filter, selection, question. Contains no data. */
import type { GpuSort, TopSort, TaskSort } from "../model/arrange.ts";

export const topPages = ["overview", "heatmap", "tasks", "details", "help"] as const;
export type TopPage = (typeof topPages)[number];
export const heatMetrics = ["util", "memory", "power", "temp"] as const;
export type HeatMetric = (typeof heatMetrics)[number];

/** A process of this machine, identified by pid and start time. */
export interface ProcessTarget {
  readonly pid: number;
  readonly startTicks: string;
  readonly name: string;
}

export interface SignalPrompt {
  readonly signal: "SIGTERM" | "SIGKILL";
  readonly target: ProcessTarget;
}

export interface View {
  readonly page: TopPage;
  readonly focus: "gpus" | "tasks";
  readonly gpuSort: TopSort<GpuSort>;
  readonly taskSort: TopSort<TaskSort>;
  readonly filter: string;
  readonly isTyping: boolean;
  readonly isTree: boolean;
  readonly isPaused: boolean;
  readonly heat: HeatMetric;
  /** Keys of the selected GPU and task; the first of the list if undefined. */
  readonly gpu: string | undefined;
  readonly task: string | undefined;
  readonly question: SignalPrompt | undefined;
  /** One sentence for the last line, until the next key. */
  readonly notice: string | undefined;
}

export const firstView: View = {
  page: "overview",
  focus: "gpus",
  gpuSort: { key: "gpu", isDescending: false },
  taskSort: { key: "memory", isDescending: true },
  filter: "",
  isTyping: false,
  isTree: false,
  isPaused: false,
  heat: "util",
  gpu: undefined,
  task: undefined,
  question: undefined,
  notice: undefined,
};

/** A clickable area of the screen. `from` and `to` are columns; `to` is excluded. */
export type Hit =
  | {
      readonly kind: "gpu";
      readonly row: number;
      readonly from: number;
      readonly to: number;
      readonly gpu: string;
    }
  | {
      readonly kind: "task";
      readonly row: number;
      readonly from: number;
      readonly to: number;
      readonly key: string;
    }
  | {
      readonly kind: "gpu-sort";
      readonly row: number;
      readonly from: number;
      readonly to: number;
      readonly key: GpuSort;
    }
  | {
      readonly kind: "task-sort";
      readonly row: number;
      readonly from: number;
      readonly to: number;
      readonly key: TaskSort;
    };
