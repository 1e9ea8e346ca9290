/** The exporters whose series gpulse reads as GPUs. To add an exporter, write its table and add a line here. */
import { amdDevice, amdSmi, xpum, xpumd } from "./amd-intel.ts";
import { allSmi, nodeDrm, otel } from "./any-vendor.ts";
import { dcgm, dcgmOld } from "./dcgm.ts";
import { nvidiaSmi, nvitop } from "./nvidia.ts";
import type { ExporterMetric, ExporterTable } from "./table.ts";

export const exporterTables: readonly ExporterTable[] = [
  dcgm,
  dcgmOld,
  nvidiaSmi,
  nvitop,
  amdDevice,
  amdSmi,
  xpum,
  xpumd,
  allSmi,
  otel,
  nodeDrm,
];

export interface ExporterName {
  readonly table: ExporterTable;
  readonly metrics: readonly ExporterMetric[];
}

/** By metric name; several programs may use the same name. */
export const exporterNames: ReadonlyMap<string, readonly ExporterName[]> = (() => {
  const names = new Map<string, ExporterName[]>();
  for (const table of exporterTables)
    for (const [name, metrics] of [
      ...table.metrics,
      ...(table.infoNames ?? []).map((info) => [info, []] as const),
    ])
      names.set(name, [...(names.get(name) ?? []), { table, metrics }]);
  return names;
})();
