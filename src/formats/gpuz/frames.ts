/** Converts rows of a GPU-Z log to frames. One layout per header: sessions with the same columns share it. */
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import { type ColumnMapping, mapColumns, perfCapBits, perfCapColumn } from "./columns.ts";
import type { GpuzHeader } from "./header.ts";
import type { GpuzRow } from "./rows.ts";
import { asWritten, isSentinel, readCell } from "./units.ts";

interface Plan {
  readonly layout: Layout;
  readonly upSlot: number;
  readonly infoSlot: number;
  readonly readings: readonly (ColumnMapping & { readonly slot: number })[];
  readonly perfCap: { readonly column: number; readonly slots: readonly number[] } | undefined;
}

export class GpuzFrames {
  readonly #device: Device;
  readonly #host: string;
  readonly #plans = new Map<string, Plan>();

  constructor(device: Device, host: string) {
    this.#device = device;
    this.#host = host;
  }

  frame({ header, cells }: GpuzRow, timeMs: number): Frame {
    const plan = this.#plan(header);
    const writer = new FrameWriter(plan.layout, timeMs);
    writer.set(plan.upSlot, 1);
    writer.set(plan.infoSlot, 1);
    let drawsPower = false;
    let tdpZeroSlot: number | undefined;
    for (const { column, slot, quantity, convert, metric } of plan.readings) {
      const value = readCell(cells[column], quantity, convert);
      if (typeof value !== "number") {
        if (isSentinel(cells[column], quantity))
          writer.reject(slot, Number(cells[column]), "sentinel");
        else writer.absent(slot, value);
        continue;
      }
      writer.set(slot, value);
      if (quantity === "power" && value > 0) drawsPower = true;
      if (metric === gpu.powerOfTdp && value === 0) tdpZeroSlot = slot;
    }
    // Seen in logs of boards with a wrong rating: 0 % at 104 W.
    if (tdpZeroSlot !== undefined && drawsPower) writer.absent(tdpZeroSlot, "failed");
    if (plan.perfCap !== undefined)
      setReasons(writer, plan.perfCap.slots, cells[plan.perfCap.column]);
    return writer.finish();
  }

  #plan(header: GpuzHeader): Plan {
    const known = this.#plans.get(header.text);
    if (known !== undefined) return known;
    const plan = this.#build(header);
    // A file that changes its header all the time is not a log: clear the cache instead of growing.
    if (this.#plans.size >= 64) this.#plans.clear();
    this.#plans.set(header.text, plan);
    return plan;
  }

  #build(header: GpuzHeader): Plan {
    const builder = new LayoutBuilder();
    const upSlot = builder.add(gpu.up, deviceLabels(this.#device, this.#host));
    const infoSlot = builder.add(gpu.info, deviceInfoLabels(this.#device, this.#host));
    const readings = mapColumns(header).map((reading) => ({
      ...reading,
      slot: builder.add(
        reading.metric,
        reading.metric.subject === "host"
          ? labelSet({ ...reading.labels, host: this.#host })
          : deviceLabels(this.#device, this.#host, reading.labels),
      ),
    }));
    const column = perfCapColumn(header);
    const slots =
      column === -1
        ? []
        : perfCapBits.map(([, reason]) =>
            builder.add(gpu.throttleActive, deviceLabels(this.#device, this.#host, { reason })),
          );
    const perfCap = column === -1 ? undefined : { column, slots };
    return { layout: builder.build(), upSlot, infoSlot, readings, perfCap };
  }
}

function setReasons(writer: FrameWriter, slots: readonly number[], cell: string | undefined): void {
  const mask = readCell(cell, "plain", asWritten);
  const usable = typeof mask === "number" && Number.isInteger(mask) && mask >= 0 && mask < 2 ** 31;
  for (const [index, [bits]] of perfCapBits.entries()) {
    const slot = slots[index];
    if (slot === undefined) continue;
    if (usable) writer.set(slot, (mask & bits) === 0 ? 0 : 1);
    else writer.absent(slot, typeof mask === "number" ? "failed" : mask);
  }
}
