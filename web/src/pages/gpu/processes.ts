/** The processes on a GPU, from the series with their names. Pure. */
import type { InstantSample } from "../../query/client.ts";
import type { Labels } from "../../query/columns.ts";

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
