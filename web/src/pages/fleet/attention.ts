/** Problems of the fleet, worst first; GPUs with the same problem share a line. Pure. */
import { type Gpu, nameOf } from "../../../../src/view/gpu.ts";
import {
  type Level,
  rank,
  statusBadges,
  temperatureLevel,
} from "../../../../src/view/gpu-status.ts";
import { type AlertCount, severityLevel } from "../../../../src/view/alert-summary.ts";

export interface Attention {
  readonly level: "warn" | "bad";
  readonly title: string;
  readonly says: string;
  readonly gpus: readonly Gpu[];
  /** The filter text that selects these GPUs; undefined if the table cannot filter for them. */
  readonly filter: string | undefined;
}

export function findAttention(gpus: readonly Gpu[]): readonly Attention[] {
  const found = new Map<string, { level: Level; says: string; gpus: Gpu[] }>();
  const add = (title: string, level: Level, says: string, gpu: Gpu): void => {
    const known = found.get(title);
    if (known === undefined) found.set(title, { level, says, gpus: [gpu] });
    else {
      known.gpus.push(gpu);
      if (rank[level] > rank[known.level]) known.level = level;
    }
  };
  for (const gpu of gpus) {
    for (const { text, level, tip } of statusBadges(gpu))
      // An ECC badge contains a count, so each would get its own line.
      if (level !== "note")
        add(text.startsWith("ECC ") ? "ECC" : text, level, sayOf(text, tip), gpu);
    const heat = temperatureLevel(gpu);
    if (heat !== undefined)
      add("hot", heat, "At most 5 °C below the temperature at which it slows down.", gpu);
  }
  return [...found]
    .map(([title, { level, says, gpus: own }]): Attention => ({
      level: level === "bad" ? "bad" : "warn",
      title,
      says,
      gpus: own,
      filter: title === "hot" || title.includes(" ") ? undefined : title.toLowerCase(),
    }))
    .sort(
      (one, other) => rank[other.level] - rank[one.level] || other.gpus.length - one.gpus.length,
    );
}

const sayOf = (text: string, tip: string): string =>
  text.startsWith("ECC ") ? "Uncorrectable memory errors since boot." : tip;

export interface AlertLine {
  readonly level: Level;
  readonly count: number;
  /** `GpuHot ×3`, most first. */
  readonly names: readonly string[];
}

/** Alerts of severity info are no problems. */
export function alertLine(active: readonly AlertCount[]): AlertLine | undefined {
  const loud = active.filter(({ severity }) => severityLevel(severity) !== "note");
  if (loud.length === 0) return undefined;
  const byName = new Map<string, number>();
  for (const { name, count } of loud) byName.set(name, (byName.get(name) ?? 0) + count);
  return {
    level: loud.some(({ severity }) => severityLevel(severity) === "bad") ? "bad" : "warn",
    count: loud.reduce((sum, { count }) => sum + count, 0),
    names: [...byName]
      .sort(([, one], [, other]) => other - one)
      .map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)),
  };
}

export const formatGpuName = (gpu: Gpu, withHost: boolean): string =>
  withHost ? `${gpu.device.host} #${gpu.device.index}` : nameOf(gpu);
