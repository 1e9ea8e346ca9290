/** A GPU as nvidia-smi tells it, from XML, text or CSV: the same readings in the catalogue's units. Pure, and never throws. */
import type { Device } from "../../../model/device.ts";
import type { AbsenceReason } from "../../../model/presence.ts";
import type { GpuMetric } from "../protocol.ts";
import { throttleReasons, throttledBy } from "../throttle.ts";
import { reasonBits } from "./table.ts";
import type { Cell } from "./value.ts";
import { readCell } from "./value.ts";

export interface SmiReading {
  readonly metric: GpuMetric;
  readonly labels?: Readonly<Record<string, string>>;
  readonly cell: Cell;
}

export interface SmiProcess {
  readonly pid: number;
  readonly kind: "compute" | "graphics" | "both";
  /** NaN where it is not told. */
  readonly memoryBytes: number;
  readonly gpuInstance: string | undefined;
}

export interface SmiGpu {
  readonly device: Device;
  readonly readings: readonly SmiReading[];
  /** Or why nobody knows: a list that was not told is not an empty one. */
  readonly processes: readonly SmiProcess[] | AbsenceReason;
}

/** The reasons as one mask, so that what it means is decided in one place. */
export function reasonReadings(cellOf: (ending: string) => string | undefined): SmiReading[] {
  let bits = 0;
  let told = 0;
  let why: Cell = "unsupported";
  for (const [bit, ending] of reasonBits) {
    const text = cellOf(ending);
    if (text === undefined) continue;
    const cell = readCell(text, "yes");
    if (typeof cell === "string") why = cell;
    else told++;
    if (cell === 1) bits |= 1 << bit;
  }
  const active = throttledBy(bits);
  return throttleReasons.map((reason) => ({
    metric: "throttleActive",
    labels: { reason },
    cell: told === 0 ? why : Number(active[reason]),
  }));
}

/** Text that is an answer; `N/A` and its like are none. */
export function said(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? "";
  return trimmed === "" || /^\[?(n\/a|not supported|unknown)/i.test(trimmed) ? undefined : trimmed;
}
