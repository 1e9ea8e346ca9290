/** Maps a frame to the lake's rows: the slot of each column, per GPU. Computed once per layout. */
import { columnOf } from "../../model/columns.ts";
import { deviceKey } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelSet, labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";

export interface GpuRow {
  /** `deviceKey` of the GPU's host and UUID. */
  readonly key: string;
  readonly uuid: string;
  /** The identifying labels, which a series derived from this row carries. */
  readonly identity: LabelSet;
  /** Columns of the GPU, and those of its host in the same frame. */
  readonly slots: ReadonlyMap<string, number>;
}

export class LayoutRows {
  readonly #known = new WeakMap<Layout, readonly GpuRow[]>();

  of(layout: Layout): readonly GpuRow[] {
    const known = this.#known.get(layout);
    if (known !== undefined) return known;
    const made = rowsOf(layout);
    this.#known.set(layout, made);
    return made;
  }
}

interface GpuRowBuilder {
  readonly uuid: string;
  readonly identity: LabelSet;
  readonly host: string;
  readonly slots: Map<string, number>;
}

function rowsOf(layout: Layout): readonly GpuRow[] {
  const gpus = new Map<string, GpuRowBuilder>();
  const hosts: [host: string, column: string, slot: number][] = [];
  layout.series.forEach((series, slot) => {
    const { labels } = series;
    // A user-defined column has the name of its metric.
    const column = columnOf(series) ?? (series.suffix === "" ? series.metric.name : undefined);
    const uuid = labelValue(labels, "uuid");
    const host = labelValue(labels, "host") ?? "";
    if (uuid === undefined) {
      if (column !== undefined) hosts.push([host, column, slot]);
      return;
    }
    const key = deviceKey(host, uuid);
    let draft = gpus.get(key);
    if (draft === undefined) {
      const identity = labelSet({ uuid, gpu: labelValue(labels, "gpu"), host });
      draft = { uuid, identity, host, slots: new Map() };
      gpus.set(key, draft);
    }
    if (column !== undefined && !draft.slots.has(column)) draft.slots.set(column, slot);
  });
  for (const [host, column, slot] of hosts)
    for (const gpu of gpus.values())
      if (gpu.host === host && !gpu.slots.has(column)) gpu.slots.set(column, slot);
  return [...gpus].map(([key, { uuid, identity, slots }]) => ({ key, uuid, identity, slots }));
}

/** Returns undefined if the column is absent or not in the frame. */
export function readColumn({ values, presence: states }: Frame, row: GpuRow, column: string) {
  const slot = row.slots.get(column);
  return slot !== undefined && states[slot] === presence.present ? values[slot] : undefined;
}
