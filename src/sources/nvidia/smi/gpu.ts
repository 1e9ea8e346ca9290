/** A GPU as nvidia-smi reports it, in the catalogue's units. Pure, and never throws. */
import type { Device } from "../../../model/device.ts";
import type { AbsenceReason } from "../../../model/presence.ts";
import type { GpuMetric } from "../protocol.ts";
import { nvidiaThrottleReasons, decodeThrottleBits } from "../../../model/nvidia-throttle.ts";
import { idleBit, reasonBits } from "./table.ts";
import { readCell, type SmiCell } from "./value.ts";

export interface SmiReading {
  readonly metric: GpuMetric;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly cell: SmiCell;
}

export interface SmiProcess {
  readonly pid: number;
  readonly kind: "compute" | "graphics" | "both";
  /** Name of the program, without folder and arguments. */
  readonly name?: string | undefined;
  /** NaN if nvidia-smi reports none, as under Windows. */
  readonly memoryBytes: number;
  /** The MIG instance the process runs in. */
  readonly gpuInstance?: string | undefined;
  readonly computeInstance?: string | undefined;
}

export interface SmiGpu {
  readonly device: Device;
  readonly readings: readonly SmiReading[];
  /** An absence reason if the list is missing: a missing list is not an empty one. */
  readonly processes: readonly SmiProcess[] | AbsenceReason;
}

/** `cellOf` returns the cell of a throttle reason by the ending of its name. */
export function reasonReadings(cellOf: (ending: string) => string | undefined): SmiReading[] {
  let bits = 0;
  let reported = 0;
  let hasIdle = false;
  let why: SmiCell = "unsupported";
  for (const [bit, ending] of reasonBits) {
    const text = cellOf(ending);
    if (text === undefined) continue;
    const cell = readCell(text, "yes");
    if (typeof cell === "string") why = cell;
    else if (bit === idleBit) hasIdle = true;
    else reported++;
    if (cell === 1) bits |= 1 << bit;
  }
  const active = decodeThrottleBits(bits);
  return [
    { metric: "clockEventReasons", cell: hasIdle && reported > 0 ? bits : why },
    ...nvidiaThrottleReasons.map((reason): SmiReading => ({
      metric: "throttleActive",
      labels: { reason },
      cell: reported === 0 ? why : Number(active[reason]),
    })),
  ];
}

/** Returns the trimmed text; undefined if it is `N/A` or similar. */
export function parseReportedText(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? "";
  return trimmed === "" || /^\[?(n\/a|not supported|unknown)/i.test(trimmed) ? undefined : trimmed;
}

/** The first of the texts that begins with a version; a note after it, such as `[Deprecated; …]` since 610, is dropped. */
export function versionIn(...texts: readonly (string | undefined)[]): string | undefined {
  for (const text of texts) {
    const version = /^\d[\w.+-]*/.exec(text?.trim() ?? "")?.[0];
    if (version !== undefined) return version;
  }
  return undefined;
}

/**
 * Extracts the program's name: nvidia-smi reports a path, in XML with arguments, which may contain secrets. A Windows path may
 * contain spaces.
 */
export function programName(text: string | undefined): string | undefined {
  const given = parseReportedText(text) ?? "";
  if (given === "-" || /^\[?insufficient permissions/i.test(given)) return undefined;
  const isWindows = /^[A-Za-z]:\\|^\\/.test(given);
  const path = isWindows
    ? (/^.*?\.exe(?=\s|$)/i.exec(given)?.[0] ?? given)
    : given.split(/\s/, 1)[0];
  const name = path?.split(isWindows ? /[\\/]/ : "/").at(-1);
  return name === "" ? undefined : name?.slice(0, 128);
}
