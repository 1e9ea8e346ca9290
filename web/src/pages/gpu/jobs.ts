/** Who used a GPU in a range, from the series that name its owners and processes. Pure. */
import type { InstantSample } from "../../query/client.ts";
import type { Labels, Matrix } from "../../query/columns.ts";

export interface GpuJob {
  readonly key: string;
  readonly labels: Labels;
  readonly fromMs: number;
  readonly toMs: number;
  /** Still there at the end of the range. */
  readonly running: boolean;
}

const ownerLabels = ["workload", "user", "pod", "namespace", "container"] as const;

/** One job per owner; newest first. */
export function jobsIn(matrix: Matrix | undefined): readonly GpuJob[] {
  if (matrix === undefined) return [];
  const { startMs, stepMs, endMs } = matrix;
  const jobs = matrix.series.flatMap(({ labels, values }): GpuJob[] => {
    const [first, last] = [values.findIndex(isThere), values.findLastIndex(isThere)];
    if (first === -1) return [];
    const toMs = startMs + last * stepMs;
    return [
      {
        key: ownerLabels.map((name) => labels[name] ?? "").join("/"),
        labels,
        fromMs: startMs + first * stepMs,
        toMs,
        running: endMs - toMs <= stepMs,
      },
    ];
  });
  return jobs.sort((one, other) => other.toMs - one.toMs || other.fromMs - one.fromMs);
}

const isThere = (value: number): boolean => !Number.isNaN(value);

export interface Process {
  readonly key: string;
  readonly labels: Labels;
  readonly memoryBytes: number | undefined;
  readonly utilizationRatio: number | undefined;
}

/** Largest first. */
export function processesIn(samples: readonly InstantSample[]): readonly Process[] {
  const byPid = new Map<string, Process>();
  for (const { labels, value } of samples) {
    const key = labels["pid"] ?? "";
    const name = labels["__name__"];
    const known = byPid.get(key) ?? {
      key,
      labels,
      memoryBytes: undefined,
      utilizationRatio: undefined,
    };
    byPid.set(key, {
      ...known,
      ...(name === "gpu_process_memory_bytes" ? { memoryBytes: value } : {}),
      ...(name === "gpu_process_utilization_ratio" ? { utilizationRatio: value } : {}),
    });
  }
  return [...byPid.values()].sort(
    (one, other) => (other.memoryBytes ?? 0) - (one.memoryBytes ?? 0),
  );
}
