/**
 * Parses Slurm's resource strings. TRES: `cpu=8,mem=64G,node=1,gres/gpu=2,gres/gpu:a100=2`; a node's part of a job:
 * `gpu:a100:2(IDX:0-1,3),shard:4(1/8,3/8)`; a request: `gres:gpu:2` or `gres/gpu:a100:2`.
 */
import type { SchedulerAllocation } from "../../model/scheduler-job.ts";

export interface TrackedResources {
  readonly gpus?: number | undefined;
  readonly cpus?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

const unitBytes: Readonly<Record<string, number>> = {
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
  P: 2 ** 50,
};

export function parseTrackedResources(text: string): TrackedResources {
  const counts = new Map<string, string>();
  for (const pair of text.slice(0, 65_536).split(",")) {
    const [name = "", count = ""] = pair.split("=", 2);
    counts.set(name, count);
  }
  return {
    gpus: countGpus([...counts].map(([name, count]) => [name, countOf(count)])),
    cpus: countOf(counts.get("cpu")),
    memoryBytes: memoryOf(counts.get("mem")),
  };
}

/** `gres/gpu` counts all GPUs; `gres/gpu:a100` those of one type, which are included in it if both are present. */
export function countGpus(
  counts: readonly (readonly [name: string, count: number | undefined])[],
): number | undefined {
  const all = counts.find(([name]) => name === "gres/gpu")?.[1];
  if (all !== undefined) return all;
  const typed = counts.flatMap(([name, count]) =>
    name.startsWith("gres/gpu:") && count !== undefined ? [count] : [],
  );
  return typed.length === 0 ? undefined : typed.reduce((sum, count) => sum + count, 0);
}

const countOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;

function memoryOf(text: string | undefined): number | undefined {
  const [, number, unit = "M"] = /^(\d{1,12}(?:\.\d{1,6})?)([KMGTP]?)/.exec(text ?? "") ?? [];
  if (number === undefined) return undefined;
  return Math.round(Number(number) * (unitBytes[unit === "" ? "M" : unit] ?? 1));
}

/** Number of GPUs in a request such as `gres:gpu:2,gres:license:1`; a name without a count means one. */
export function parseRequestedGpus(text: string): number | undefined {
  let gpus: number | undefined;
  for (const part of text.slice(0, 65_536).split(",")) {
    const [, count] = /^(?:gres[:/])?gpu(?::(?!\d+$)[^:]{1,64})?(?::(\d{1,9}))?$/.exec(part) ?? [];
    if (count === undefined && !/^(?:gres[:/])?gpu(?::|$)/.test(part)) continue;
    gpus = (gpus ?? 0) + (count === undefined ? 1 : Number(count));
  }
  return gpus;
}

/** A MIG profile in the type of a GPU, such as `a100_1g.5gb`. */
const migProfile = /\dg\.\d+gb/;

/**
 * The GPUs in one node's detail; undefined if it lists none. Slurm numbers the instances of MIG through all GPUs of a node, so
 * their numbers are no GPU indexes.
 */
export function parseNodeGpus(
  text: string,
): Pick<SchedulerAllocation, "gpuCount" | "gpuIndexes"> | undefined {
  let gpuCount: number | undefined;
  let gpuIndexes: number[] | undefined = [];
  const detail = /(?:^|,)gpu(?::((?!\d+[(,])[^:(,]{1,64}))?:(\d{1,6})(?:\((?:IDX:)?([^)]*)\))?/g;
  for (const [, type = "", count = "0", indexes] of text.slice(0, 65_536).matchAll(detail)) {
    if (count === "0") continue;
    gpuCount = (gpuCount ?? 0) + Number(count);
    const listed = expandIndexes(indexes ?? "");
    if (listed.length === Number(count) && !migProfile.test(type)) gpuIndexes?.push(...listed);
    else gpuIndexes = undefined;
  }
  if (gpuCount === undefined) return undefined;
  return { gpuCount, ...(gpuIndexes === undefined ? {} : { gpuIndexes }) };
}

function expandIndexes(text: string): readonly number[] {
  const indexes: number[] = [];
  for (const range of text.split(",")) {
    const [, from, to = from] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(range) ?? [];
    if (from === undefined) return [];
    for (let index = Number(from); index <= Number(to); index++) indexes.push(index);
  }
  return indexes;
}
