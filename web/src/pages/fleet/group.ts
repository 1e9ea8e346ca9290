/** Groups the fleet by host, model, vendor, state, job, or any stored label of a GPU. Pure. */
import { type Gpu, numbersOf, read, sum, temperature } from "../../../../src/view/gpu.ts";
import type { Labels } from "../../query/columns.ts";
import { customLabelNames } from "../../../../src/view/host/labels.ts";
import { compareNames } from "../../../../src/view/sort.ts";

type LabelsOf = (id: string) => Labels | undefined;

const own: Readonly<Record<string, (gpu: Gpu) => string | undefined>> = {
  host: ({ device }) => device.host,
  model: ({ device }) => device.model,
  vendor: ({ device }) => device.vendor,
  state: ({ state }) => state,
  job: ({ row }) => row.job,
  user: ({ row }) => row.user,
  driver: ({ device }) => device.driver,
  source: ({ device }) => device.source,
};

/**
 * Labels that cannot be grouped by, because they distinguish single GPUs or are ambiguous without the host; the stored `job` is the
 * scrape job, not the GPU's.
 */
const noGroups = new Set([
  "__name__",
  "uuid",
  "gpu",
  "pci_bus_id",
  "vbios",
  "parent",
  "job",
  "numa_node",
]);

/** The labels for grouping: those that the operator set on machines, such as room and rack, then the common ones. */
export function groupings(labels: Iterable<Labels>): readonly string[] {
  const all = [...labels];
  const custom = customLabelNames(all).filter((name) => own[name] === undefined);
  const found = new Set(all.flatMap((one) => Object.keys(one)));
  const more = [...found].filter(
    (name) => !noGroups.has(name) && own[name] === undefined && !custom.includes(name),
  );
  return [...custom, ...Object.keys(own), ...more.sort()];
}

export function groupOf(gpu: Gpu, by: string, labelsOf: LabelsOf): string {
  const value = own[by] === undefined ? labelsOf(gpu.id)?.[by] : own[by](gpu);
  return value === undefined || value === "" ? `no ${by}` : value;
}

export interface GpuGroup {
  readonly name: string;
  readonly gpus: readonly Gpu[];
}

/** Groups are sorted by name; GPUs keep their order. */
export function groupGpus(
  gpus: readonly Gpu[],
  by: string,
  labelsOf: LabelsOf,
): readonly GpuGroup[] {
  const found = new Map<string, Gpu[]>();
  for (const gpu of gpus) {
    const name = groupOf(gpu, by, labelsOf);
    const group = found.get(name);
    if (group === undefined) found.set(name, [gpu]);
    else group.push(gpu);
  }
  return [...found]
    .sort(([one], [other]) => compareNames(one, other))
    .map(([name, members]) => ({ name, gpus: members }));
}

export interface GroupSummary {
  readonly count: number;
  readonly hosts: number;
  readonly active: number;
  readonly lost: number;
  /** Undefined if no GPU of the group reports it. */
  readonly utilizationRatio: number | undefined;
  readonly powerWatts: number | undefined;
  readonly hottestCelsius: number | undefined;
}

export function summarizeGroup({ gpus }: GpuGroup): GroupSummary {
  const utilization = numbersOf(gpus.map((gpu) => read(gpu, "utilization")));
  const power = numbersOf(gpus.map((gpu) => read(gpu, "power")));
  const heat = numbersOf(gpus.map(temperature));
  return {
    count: gpus.length,
    hosts: new Set(gpus.map(({ device }) => device.host)).size,
    active: gpus.filter(({ state }) => state === "active").length,
    lost: gpus.filter(({ state }) => state === "lost" || state === "silent").length,
    utilizationRatio: utilization.length === 0 ? undefined : sum(utilization) / utilization.length,
    powerWatts: power.length === 0 ? undefined : sum(power),
    hottestCelsius: heat.length === 0 ? undefined : Math.max(...heat),
  };
}
