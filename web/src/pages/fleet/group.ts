/** The fleet in groups: by host, model, vendor, state, job, or any label the store has of a GPU. Pure. */
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
 * Labels that distinguish single GPUs make no groups, and neither does a node number without its host; `job` of the store is the
 * scrape's, not the GPU's.
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

/** What the GPUs may be grouped by: labels that the machines' owner set, such as room and rack, then the usual ones. */
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

/** In the order in which names are read; GPUs keep theirs. */
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
  /** Undefined where no GPU of the group reports it. */
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
