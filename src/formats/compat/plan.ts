/** Computes, once per set of layouts, which of our series feed each series of a compatibility table. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { labelKey, type LabelSet, labelSet, labelValue } from "../../model/labels.ts";
import { type Layout, LayoutBuilder, seriesKey } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { RowContext, CompatRow, CompatTable, SourceMetric, Match, GpuOwner } from "./row.ts";

/** The position of a reading in the input frames. */
export interface CellInput {
  readonly frameIndex: number;
  readonly slot: number;
  readonly labels: LabelSet;
  readonly derived: boolean;
}

/** One series of the table. */
export interface CompatCell {
  readonly row: CompatRow;
  readonly inputs: CellInput[];
  /** Read if none of the inputs is present. */
  readonly otherwise: readonly CellInput[];
  readonly second: readonly CellInput[];
  /** For a row that has a value although there is no series: the series that must be present for it. */
  readonly anchor: readonly CellInput[];
  readonly about: RowContext;
}

export interface CompatPlan {
  readonly layout: Layout;
  readonly cells: readonly CompatCell[];
}

interface Gpu {
  readonly device: Device;
  host: string;
  readonly byMetric: Map<MetricEntry, CellInput[]>;
}

interface DeviceFrame {
  readonly frame: Frame;
  readonly devices: readonly Device[];
}

export function planCompat(table: CompatTable, frames: readonly DeviceFrame[]): CompatPlan {
  const gpus = gatherGpus(table, frames);
  const builder = new LayoutBuilder();
  const cells: CompatCell[] = [];
  const abouts = gpus.map((one): RowContext => ({
    device: one.device,
    host: one.host,
    owner: ownerOf(one, frames),
    gpus: gpus.filter(({ device }) => device.parent === undefined).length,
    labelOf: (metric, label) => labelValue(one.byMetric.get(metric)?.[0]?.labels ?? [], label),
  }));
  for (const row of table.rows) {
    const metric = entryOf(row);
    const placed = new Map<string, CompatCell>();
    gpus.forEach((one, index) => {
      const about = abouts[index];
      if (about === undefined || !isAbout(row, table, one.device)) return;
      for (const { labels, inputs } of groups(table, row, one, about)) {
        const key = labelKey(labels);
        const before = placed.get(key);
        if (before !== undefined) {
          before.inputs.push(...inputs);
          continue;
        }
        const second = row.second === undefined ? [] : find(one, row.second);
        const anchor =
          row.whenNone === undefined ? [] : (one.byMetric.get(row.whenNone.given) ?? []);
        const otherwise = (row.otherwise ?? [])
          .flatMap((from) => find(one, from))
          .filter((input) => !inputs.includes(input));
        const cell: CompatCell = { row, inputs, otherwise, second, anchor, about };
        builder.add(metric, labels);
        placed.set(key, cell);
        cells.push(cell);
      }
    });
  }
  return { layout: builder.build(), cells };
}

/** True if the row has a series for this GPU or MIG instance. */
function isAbout(row: CompatRow, table: CompatTable, { parent }: Device): boolean {
  const isInstance = parent !== undefined;
  if (row.ofInstances === true) return isInstance;
  return !(isInstance && table.wholeOnly === true);
}

/** The GPUs of the table's vendor with their series; a series reported by two sources counts once, as on the page. */
function gatherGpus(table: CompatTable, frames: readonly DeviceFrame[]): Gpu[] {
  const gpus = new Map<string, Gpu>();
  for (const { devices } of frames)
    for (const device of devices)
      if (device.vendor === table.vendor && !gpus.has(device.uuid))
        gpus.set(device.uuid, { device, host: "", byMetric: new Map() });
  const seen = new Set<string>();
  frames.forEach(({ frame }, frameIndex) => {
    frame.layout.series.forEach((series, slot) => {
      if (series.metric.subject !== "device") return;
      const one = gpus.get(labelValue(series.labels, "uuid") ?? "");
      if (one === undefined) return;
      const key = seriesKey(series);
      if (seen.has(key)) return;
      seen.add(key);
      if (one.host === "") one.host = labelValue(series.labels, "host") ?? "";
      const list = one.byMetric.get(series.metric) ?? [];
      list.push({ frameIndex, slot, labels: series.labels, derived: series.derived === true });
      one.byMetric.set(series.metric, list);
    });
  });
  return [...gpus.values()];
}

/** The readings of a row, grouped by the labels of the resulting series. */
function groups(
  table: CompatTable,
  row: CompatRow,
  one: Gpu,
  about: RowContext,
): { labels: LabelSet; inputs: CellInput[] }[] {
  const base = {
    ...(row.perHost === true ? table.hostLabels(about) : table.labels(about)),
    ...row.labels?.(about),
  };
  const inputs =
    [row, ...(row.otherwise ?? [])]
      .map((from) => find(one, from))
      .find((found) => found.length > 0) ?? [];
  if (inputs.length === 0)
    return row.whenNone === undefined || !one.byMetric.has(row.whenNone.given)
      ? []
      : [{ labels: labelSet(base), inputs: [] }];
  const byLabels = new Map<string, { labels: LabelSet; inputs: CellInput[] }>();
  for (const input of inputs) {
    const copied: Record<string, string | undefined> = {};
    for (const [theirs, ours] of Object.entries(row.copy ?? {}))
      copied[theirs] = labelValue(input.labels, ours);
    const labels = labelSet({ ...base, ...copied });
    const key = labelKey(labels);
    const group = byLabels.get(key);
    if (group === undefined) byLabels.set(key, { labels, inputs: [input] });
    else group.inputs.push(input);
  }
  return [...byLabels.values()];
}

function find(one: Gpu, { from, match, reported }: SourceMetric): CellInput[] {
  return (one.byMetric.get(from) ?? []).filter(
    ({ labels, derived }) => matches(labels, match) && !(reported === true && derived),
  );
}

function matches(labels: LabelSet, match: Match = {}): boolean {
  return Object.entries(match).every(([name, wanted]) => {
    const value = labelValue(labels, name) ?? "";
    return typeof wanted === "string" ? value === wanted : wanted.includes(value);
  });
}

function ownerOf(one: Gpu, frames: readonly DeviceFrame[]): GpuOwner {
  const owners = (one.byMetric.get(gpu.ownerInfo) ?? []).filter(
    ({ frameIndex, slot }) => frames[frameIndex]?.frame.presence[slot] === presence.present,
  );
  const [only] = owners;
  if (only === undefined || owners.length > 1) return {};
  const label = (name: string): string | undefined => labelValue(only.labels, name);
  return {
    namespace: label("namespace"),
    pod: label("pod"),
    container: label("container"),
    workload: label("workload"),
    user: label("user"),
  };
}

const entries = new WeakMap<CompatRow, MetricEntry>();

/** The catalogue has only our own metrics, so this entry is created for the page. */
function entryOf(row: CompatRow): MetricEntry {
  let entry = entries.get(row);
  if (entry === undefined) {
    entry = {
      name: row.name,
      kind: row.kind,
      unit: "none",
      help: row.help,
      subject: "device",
      tier: "fast",
      resolution: 1e-9,
      plausible: [-Infinity, Infinity],
      labels: [],
      given: {},
    };
    entries.set(row, entry);
  }
  return entry;
}
