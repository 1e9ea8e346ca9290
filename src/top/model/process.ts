/** The processes on a GPU if the source reports them, otherwise its owner. Pure. */
import type { WireValue } from "../../view/live/protocol.ts";

export interface Ancestor {
  readonly pid: number;
  readonly name: string;
}

export interface GpuTask {
  /** Key of GPU and process together: a process on two GPUs is two lines. */
  readonly key: string;
  readonly uuid: string;
  readonly host: string;
  readonly gpuIndex: string;
  /** Absent if only the owner is known. */
  readonly pid?: number;
  readonly name?: string;
  readonly kind?: string;
  readonly container?: string;
  readonly pod?: string;
  readonly namespace?: string;
  readonly workload?: string;
  readonly user?: string;
  readonly memoryBytes: WireValue;
  readonly utilization: WireValue;
  /** Parents, nearest first; known only for this machine. */
  readonly ancestors?: readonly Ancestor[];
  /** Set for a process of this machine. Identifies it together with the pid, because pids are reused. */
  readonly startTicks?: string;
}

export interface TaskLine {
  readonly task: GpuTask | undefined;
  /** Branches drawn before the name. */
  readonly depth: readonly ("pass" | "blank" | "branch" | "last")[];
  /** Text of a line that only groups others. */
  readonly label: string;
}

export const taskName = ({ name, workload, pid }: GpuTask): string =>
  name ?? workload ?? (pid === undefined ? "unknown" : `pid ${pid}`);

export const podOf = ({ namespace, pod }: GpuTask): string | undefined =>
  pod === undefined ? undefined : namespace === undefined ? pod : `${namespace}/${pod}`;

interface Node {
  readonly label: string;
  readonly children: Map<string, Node>;
  readonly tasks: GpuTask[];
}

const newNode = (label: string): Node => ({ label, children: new Map(), tasks: [] });

/** Lines of a tree: by parents on this machine; elsewhere by host and by pod, container or user. Keeps the order of `tasks`. */
export function treeLines(tasks: readonly GpuTask[]): TaskLine[] {
  const root = newNode("");
  for (const task of tasks) {
    let node = root;
    for (const { key, label } of pathOf(task)) {
      const next = node.children.get(key) ?? newNode(label);
      node.children.set(key, next);
      node = next;
    }
    node.tasks.push(task);
  }
  const lines: TaskLine[] = [];
  for (const child of root.children.values()) walk(child, [], [], lines);
  return lines;
}

/** From the oldest parent to the process itself, so that a parent on a GPU is above its children. */
function pathOf(task: GpuTask): readonly { readonly key: string; readonly label: string }[] {
  const own = { key: task.pid === undefined ? task.key : `p${task.pid}`, label: taskName(task) };
  if (task.ancestors !== undefined)
    return [
      ...task.ancestors
        .toReversed()
        .map(({ pid, name }) => ({ key: `p${pid}`, label: `${name} ${pid}` })),
      own,
    ];
  const owner = podOf(task) ?? task.container ?? task.user ?? "no owner known";
  return [{ key: `h${task.host}`, label: task.host }, { key: `o${owner}`, label: owner }, own];
}

/** `own` is drawn before the node, `below` before its children. */
function walk(
  node: Node,
  own: TaskLine["depth"],
  below: TaskLine["depth"],
  lines: TaskLine[],
): void {
  if (node.tasks.length === 0) lines.push({ task: undefined, depth: own, label: node.label });
  for (const task of node.tasks) lines.push({ task, depth: own, label: "" });
  const children = [...node.children.values()];
  children.forEach((child, at) => {
    const isLast = at === children.length - 1;
    walk(
      child,
      [...below, isLast ? "last" : "branch"],
      [...below, isLast ? "blank" : "pass"],
      lines,
    );
  });
}
