/** The processes on a GPU where the source reports them, else its owner. Pure. */
import type { WireValue } from "../../view/live/protocol.ts";

export interface Ancestor {
  readonly pid: number;
  readonly name: string;
}

export interface GpuTask {
  /** Of the GPU and the process together: a process on two GPUs is two lines. */
  readonly key: string;
  readonly uuid: string;
  readonly host: string;
  readonly gpuIndex: string;
  /** Absent where only the owner is known. */
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
  /** Parents, nearest first; known on this machine alone. */
  readonly ancestors?: readonly Ancestor[];
  /** Set for a process of this machine: with the pid it is its identity, since pids are used again. */
  readonly startTicks?: string;
}

export interface TaskLine {
  readonly task: GpuTask | undefined;
  /** Drawn before the name. */
  readonly depth: readonly ("pass" | "blank" | "branch" | "last")[];
  /** Of a line that only groups. */
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

/** Lines of a tree: by parents on this machine; elsewhere by host and by pod, container or user. Order is as given. */
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

/** From the oldest parent to the process itself, so that a parent on a GPU stands above its children. */
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

/** `own` is drawn before the node, `below` before what hangs on it. */
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
