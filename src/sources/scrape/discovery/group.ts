/** The interface of all discoveries and their result: groups of targets, each target a set of labels. */
import type { TargetGroup } from "../config/types.ts";

export type TargetLabels = Readonly<Record<string, string>>;

/** A group is immutable after it has been emitted: the same object always stands for the same targets. */
export interface DiscoveredGroup {
  /** Origin of the group for error messages: a place in a file, a URL, an object of a cluster. */
  readonly source: string;
  /** Each target has an `__address__`. */
  readonly targets: readonly TargetLabels[];
  /** Labels of every target in the group; a target's own override them. */
  readonly labels: TargetLabels;
}

export interface Discovery {
  /**
   * Discovers until closed. `emit` receives all current groups: once after the first attempt, successful or not, and then after
   * each change. An unreadable part retains its last good groups.
   */
  start(emit: (groups: readonly DiscoveredGroup[]) => void): void;
  close(): void;
}

/* Target groups in files and HTTP responses: a list of `{targets, labels}`. Strict: an unknown key is an error. */

/** @throws Error with one sentence: the problem and its group */
export function readGroups(
  value: unknown,
  sourceOf: (index: number) => string,
  meta: TargetLabels,
): readonly DiscoveredGroup[] {
  if (!Array.isArray(value)) throw new Error("it is not a list of target groups");
  return value.map((item: unknown, index) => {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      throw new Error(`group ${index} is not a mapping of targets and labels`);
    for (const key of Object.keys(item))
      if (key !== "targets" && key !== "labels")
        throw new Error(`group ${index} has the unknown key "${key.slice(0, 100)}"`);
    const { targets = [], labels = {} } = item as { targets?: unknown; labels?: unknown };
    if (!Array.isArray(targets) || !targets.every((target) => typeof target === "string"))
      throw new Error(`group ${index}: "targets" must be a list of addresses`);
    return {
      source: sourceOf(index),
      targets: targets.map((address) => ({ __address__: address })),
      labels: { ...readLabels(labels, index), ...meta },
    };
  });
}

const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

function readLabels(labels: unknown, index: number): TargetLabels {
  if (labels === null) return {};
  if (typeof labels !== "object" || Array.isArray(labels))
    throw new Error(`group ${index}: "labels" must be a mapping`);
  for (const [name, value] of Object.entries(labels)) {
    if (!labelName.test(name))
      throw new Error(`group ${index}: "${name.slice(0, 100)}" is not a valid label name`);
    if (typeof value !== "string")
      throw new Error(`group ${index}: the value of label "${name}" must be text`);
  }
  return labels as TargetLabels;
}

/* Discoveries that poll: at once, and then at the refresh interval, never twice at the same time. */

/** @param find returns the groups; undefined if they have not changed, or if it failed and has logged that */
export function createRefreshingDiscovery(
  everyMs: number,
  find: (signal: AbortSignal) => Promise<readonly DiscoveredGroup[] | undefined>,
): Discovery {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const run = async (
    emit: (groups: readonly DiscoveredGroup[]) => void,
    first: boolean,
  ): Promise<void> => {
    const groups = await find(closing.signal);
    if (closing.signal.aborted) return;
    if (groups !== undefined || first) emit(groups ?? []);
    timer = setTimeout(() => void run(emit, false), everyMs);
  };
  return {
    start: (emit) => void run(emit, true),
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}

export function staticDiscovery(configs: readonly TargetGroup[]): Discovery {
  const groups = configs.map(({ targets, labels }, index): DiscoveredGroup => ({
    source: String(index),
    targets: targets.map((address) => ({ __address__: address })),
    labels: Object.fromEntries(labels),
  }));
  return { start: (emit) => emit(groups), close() {} };
}
