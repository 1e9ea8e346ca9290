/** The readings in which causes are searched: for every GPU and machine, one column of cells per field. */
import { ownerOf } from "../../lake/analyses/anomaly/readings.ts";
import { gpu, host, type MetricEntry, self } from "../../model/catalogue/index.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import { deviceKey } from "../../model/device.ts";
import type { SampleColumn } from "../../model/select.ts";
import {
  type CellCombination,
  type CellGrid,
  type CellValue,
  cellMs,
  fillCells,
  type GridWindow,
} from "./grid.ts";

interface FieldSource {
  readonly metric: MetricEntry;
  readonly label?: readonly [name: string, values: readonly string[]];
  readonly value: CellValue;
  readonly combine?: CellCombination;
}

const mean = (metric: MetricEntry, label?: FieldSource["label"]): FieldSource => ({
  metric,
  value: "mean",
  ...(label === undefined ? {} : { label }),
});
const last = (metric: MetricEntry, label?: FieldSource["label"]): FieldSource => ({
  ...mean(metric, label),
  value: "last",
});

const sources = {
  up: last(gpu.up),
  power: mean(gpu.power),
  utilization: mean(gpu.utilization),
  memoryUtilization: mean(gpu.memoryControllerUtilization),
  memoryBytes: last(gpu.memoryUsed),
  memoryTotal: last(gpu.memoryTotal),
  edge: mean(gpu.temperature, ["sensor", ["edge"]]),
  hotspot: mean(gpu.temperature, ["sensor", ["hotspot"]]),
  memoryCelsius: mean(gpu.temperature, ["sensor", ["memory"]]),
  clock: { ...mean(gpu.clock, ["domain", ["graphics"]]), value: "max" },
  clockMean: mean(gpu.clock, ["domain", ["graphics"]]),
  fan: mean(gpu.fanSpeed),
  capped: mean(gpu.throttleActive, ["reason", ["power_cap"]]),
  heatThrottled: mean(gpu.throttleActive, ["reason", ["thermal", "thermal_hardware"]]),
  braked: mean(gpu.throttleActive, ["reason", ["power_brake"]]),
  clockSetting: mean(gpu.throttleActive, ["reason", ["clock_setting"]]),
  powerLimit: last(gpu.powerLimit),
  linkGeneration: { ...last(gpu.pcieLinkGeneration), value: "max" },
  linkGenerationMax: last(gpu.pcieLinkGenerationMax),
  linkWidth: last(gpu.pcieLinkWidth),
  linkWidthMax: last(gpu.pcieLinkWidthMax),
  linkReplays: last(gpu.pcieReplays),
  eccCorrected: last(gpu.eccErrors, ["type", ["corrected"]]),
  eccUncorrected: last(gpu.eccErrors, ["type", ["uncorrected"]]),
  interconnectErrors: { ...last(gpu.interconnectErrors), combine: "sum" },
} satisfies Record<string, FieldSource>;

export type CellField = keyof typeof sources;

const hostSources = {
  sourceSuccess: {
    metric: self.sourceUp,
    label: ["tier", ["fast"]],
    value: "last",
    combine: "min",
  },
  memoryAvailable: last(host.memoryAvailable),
  memoryTotal: last(host.memoryTotal),
  memoryStalledSeconds: last(host.pressureStalled, ["resource", ["memory"]]),
  cpuWaitingSeconds: last(host.pressureWaiting, ["resource", ["cpu"]]),
  diskStalledSeconds: last(host.pressureStalled, ["resource", ["io"]]),
} satisfies Record<string, FieldSource>;

export type HostField = keyof typeof hostSources;

/** Metrics to read from the history: for the explained GPUs, for the GPUs they are compared with, and for machines. */
export const gpuMetricNames: readonly string[] = [
  ...new Set([
    ...Object.values(sources).map(({ metric }) => metric.name),
    gpu.ownerInfo.name,
    gpu.xidErrors.name,
  ]),
];
export const peerMetricNames: readonly string[] = [
  gpu.up,
  gpu.power,
  gpu.powerLimit,
  gpu.utilization,
  gpu.memoryControllerUtilization,
  gpu.temperature,
  gpu.clock,
  gpu.fanSpeed,
  gpu.ownerInfo,
].map(({ name }) => name);
export const hostMetricNames: readonly string[] = [
  ...new Set(
    Object.values(hostSources).flatMap(({ metric }) =>
      metric.subject === "host" ? [metric.name] : [],
    ),
  ),
];

export interface GpuIdentity {
  readonly uuid: string;
  readonly host: string;
  readonly index: string;
  readonly model: string;
  readonly vendor: string;
}

export interface XidOccurrence {
  readonly xid: number;
  readonly atMs: number;
  readonly count: number;
}

const noCells = new Float64Array(0);

class Cells<Field extends string> {
  readonly #cells = new Map<Field, Float64Array>();
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  /** Returns NaN for cells without a reading, and an empty array if the field was never reported. */
  get(field: Field): Float64Array {
    return this.#cells.get(field) ?? noCells;
  }

  has(field: Field): boolean {
    return this.#cells.has(field);
  }

  open(field: Field): Float64Array {
    let cells = this.#cells.get(field);
    if (cells === undefined)
      this.#cells.set(field, (cells = new Float64Array(this.#count).fill(Number.NaN)));
    return cells;
  }

  /** Returns the newest number in the cells [from, to). */
  last(field: Field, from = 0, to = this.#count): number | undefined {
    const cells = this.get(field);
    for (let cell = Math.min(to, cells.length) - 1; cell >= from; cell--) {
      const value = cells[cell] as number;
      if (!Number.isNaN(value)) return value;
    }
    return undefined;
  }
}

export class GpuCells extends Cells<CellField> {
  readonly gpu: GpuIdentity;
  /** Owner of each cell as an index of `ownerNames`, or -1. */
  readonly owners: Int32Array;
  /** Number of owners per cell. */
  readonly ownerCounts: Uint8Array;
  readonly ownerNames: string[] = [];
  readonly xids: XidOccurrence[] = [];

  constructor(identity: GpuIdentity, cellCount: number) {
    super(cellCount);
    this.gpu = identity;
    this.owners = new Int32Array(cellCount).fill(-1);
    this.ownerCounts = new Uint8Array(cellCount);
  }

  /** The temperature that controls the card's fan and clocks: the hotspot if it is reported. */
  get celsiusField(): "hotspot" | "edge" {
    return this.has("hotspot") ? "hotspot" : "edge";
  }
}

export class HostCells extends Cells<HostField> {
  readonly host: string;

  constructor(name: string, cellCount: number) {
    super(cellCount);
    this.host = name;
  }
}

const fieldsOf = <Field extends string>(
  from: Readonly<Record<Field, FieldSource>>,
): Map<string, { readonly field: Field; readonly source: FieldSource }[]> => {
  const byName = new Map<string, { readonly field: Field; readonly source: FieldSource }[]>();
  for (const [field, source] of Object.entries(from) as [Field, FieldSource][])
    byName.set(source.metric.name, [...(byName.get(source.metric.name) ?? []), { field, source }]);
  return byName;
};
const gpuFields = fieldsOf<CellField>(sources);
const hostFields = fieldsOf<HostField>(hostSources);

/** A series that begins in the middle of a window began with its first event. A shorter delay than this is a late scrape. */
const lateMs = 60_000;

export class FleetCells {
  readonly grid: CellGrid;
  readonly gpus: readonly GpuCells[];
  readonly hosts: readonly HostCells[];
  readonly #byKey = new Map<string, GpuCells>();
  readonly #hostByName = new Map<string, HostCells>();
  seriesCount = 0;
  /** Time of the oldest sample; Infinity without samples. */
  firstMs = Infinity;

  constructor(grid: CellGrid, gpus: readonly GpuIdentity[]) {
    this.grid = grid;
    this.gpus = gpus.map((identity) => new GpuCells(identity, grid.cellCount));
    for (const cells of this.gpus)
      this.#byKey.set(deviceKey(cells.gpu.host, cells.gpu.uuid), cells);
    for (const { host: name } of gpus)
      if (!this.#hostByName.has(name))
        this.#hostByName.set(name, new HostCells(name, grid.cellCount));
    this.hosts = [...this.#hostByName.values()];
  }

  find(uuid: string, hostName?: string): GpuCells | undefined {
    if (hostName !== undefined) return this.#byKey.get(deviceKey(hostName, uuid));
    return this.gpus.find(({ gpu: own }) => own.uuid === uuid);
  }

  host(name: string): HostCells | undefined {
    return this.#hostByName.get(name);
  }

  /**
   * Adds the samples of one series in one window.
   * @param decode called at most once, and not for a series that no field uses
   */
  take(labels: LabelSet, decode: () => SampleColumn, window: GridWindow): void {
    const name = labelValue(labels, "__name__") ?? "";
    const hostName = labelValue(labels, "host") ?? hostOfInstance(labels);
    const uuid = labelValue(labels, "uuid");
    if (window.toMs === this.grid.timeMs) this.seriesCount += 1;
    const read = (): SampleColumn => {
      const column = decode();
      this.firstMs = Math.min(this.firstMs, column.times[0] ?? Infinity);
      return column;
    };
    if (uuid === undefined) {
      const cells = this.#hostByName.get(hostName);
      if (cells !== undefined) fill(cells, hostFields.get(name) ?? [], labels, read, window);
      return;
    }
    const cells = this.#byKey.get(deviceKey(hostName, uuid));
    if (cells === undefined) return;
    if (name === gpu.ownerInfo.name) takeOwner(cells, ownerOf(labels), read(), window);
    else if (name === gpu.xidErrors.name) takeXids(cells, labels, read(), window);
    else fill(cells, gpuFields.get(name) ?? [], labels, read, window);
  }
}

/** Self-metrics have no host label: the host is the address in their instance label. */
const hostOfInstance = (labels: LabelSet): string =>
  (labelValue(labels, "instance") ?? "").replace(/:\d+$/, "");

function fill<Field extends string>(
  cells: Cells<Field>,
  fields: readonly { readonly field: Field; readonly source: FieldSource }[],
  labels: LabelSet,
  decode: () => SampleColumn,
  window: GridWindow,
): void {
  const wanted = fields.filter(
    ({ source: { label } }) =>
      label === undefined || label[1].includes(labelValue(labels, label[0]) ?? ""),
  );
  if (wanted.length === 0) return;
  const column = decode();
  for (const { field, source } of wanted)
    fillCells(cells.open(field), window, column, source.value, source.combine);
}

function takeOwner(
  cells: GpuCells,
  owner: string,
  { times, values, stale }: SampleColumn,
  window: GridWindow,
): void {
  let index = cells.ownerNames.indexOf(owner);
  if (index < 0) index = cells.ownerNames.push(owner) - 1;
  let before = -1;
  for (let at = 0; at < times.length; at++) {
    if (stale?.[at] === 1 || values[at] !== 1) continue;
    const cell = Math.ceil(((times[at] as number) - window.fromMs) / cellMs) - 1;
    if (cell === before || cell < 0 || cell >= window.cellCount) continue;
    before = cell;
    const place = window.firstCell + cell;
    cells.owners[place] = index;
    cells.ownerCounts[place] = (cells.ownerCounts[place] ?? 0) + 1;
  }
}

function takeXids(
  cells: GpuCells,
  labels: LabelSet,
  { times, values, stale }: SampleColumn,
  window: GridWindow,
): void {
  const xid = Number(labelValue(labels, "xid"));
  if (!Number.isInteger(xid)) return;
  let before: number | undefined;
  for (let at = 0; at < times.length; at++) {
    if (stale?.[at] === 1) continue;
    const atMs = times[at] as number;
    const value = values[at] as number;
    const count = value - (before ?? (atMs > window.fromMs + lateMs ? 0 : value));
    if (count > 0) cells.xids.push({ xid, atMs, count });
    before = value;
  }
}
