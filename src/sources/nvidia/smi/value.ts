/** Parses one cell of nvidia-smi's output into a number in the catalogue's unit, or an absence reason. Pure. */
import type { AbsenceReason } from "../../../model/presence.ts";

/** The kind of a cell's value; a cell without a unit is in the first one of `units`. */
export type CellKind =
  | "ratio"
  | "bytes"
  | "celsius"
  | "watts"
  | "hertz"
  | "count"
  | "seconds"
  | "rate"
  | "volts"
  | WordKind
  | "pstate";

/** A cell with one of a few words. */
type WordKind = "yes" | "computeMode" | "recoveryAction" | "fabricState";

/** Words in lower case with single spaces; the numbers are NVML's. */
const words: Readonly<Record<WordKind, Readonly<Record<string, number>>>> = {
  yes: {
    active: 1,
    enabled: 1,
    yes: 1,
    "1": 1,
    "not active": 0,
    disabled: 0,
    no: 0,
    none: 0,
    "0": 0,
  },
  computeMode: { default: 0, "exclusive thread": 1, prohibited: 2, "exclusive process": 3 },
  recoveryAction: {
    none: 0,
    reset: 1,
    "gpu reset": 1,
    reboot: 2,
    "node reboot": 2,
    "drain p2p": 3,
    "drain and reset": 4,
  },
  fabricState: { "not started": 1, "in progress": 2, completed: 3 },
};

const isWordKind = (kind: CellKind): kind is WordKind => Object.hasOwn(words, kind);

const units: Readonly<
  Record<Exclude<CellKind, WordKind | "pstate">, Readonly<Record<string, number>>>
> = {
  ratio: { "": 0.01, "%": 0.01 },
  bytes: { "": 1_048_576, kib: 1_024, mib: 1_048_576, gib: 1_073_741_824 },
  celsius: { "": 1, c: 1 },
  watts: { "": 1, w: 1, mw: 0.001 },
  hertz: { "": 1e6, mhz: 1e6, ghz: 1e9, khz: 1e3 },
  count: { "": 1, x: 1 },
  seconds: { "": 1e-6, us: 1e-6, ms: 1e-3, s: 1, ns: 1e-9 },
  rate: { "": 1e3, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9 },
  volts: { "": 1e-3, mv: 1e-3, v: 1 },
};

export type SmiCell = number | AbsenceReason;

export function readCell(given: string, kind: CellKind): SmiCell {
  const text = given
    .trim()
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (isWordKind(kind)) {
    const word = text.replace(/[\s_]+/g, " ");
    return (Object.hasOwn(words[kind], word) ? words[kind][word] : undefined) ?? absence(text);
  }
  if (kind === "pstate") {
    const state = /^p(\d{1,2})$/.exec(text)?.[1];
    return state === undefined ? absence(text) : Number(state);
  }
  const match = /^(-?\d{1,20}(?:\.\d{1,9})?)\s*([a-z%/]*)$/.exec(text);
  if (match === null) return absence(text);
  const unit = match[2] ?? "";
  // The cell's unit may be "constructor", which every object has.
  const scale = Object.hasOwn(units[kind], unit) ? units[kind][unit] : undefined;
  return scale === undefined ? "failed" : Number(match[1]) * scale;
}

/**
 * `N/A`, `[Not Supported]`, `Not available in WDDM driver model`, `Requested functionality has been deprecated`, `[Insufficient
 * Permissions]`, `ERR!`, `GPU is lost` …
 */
function absence(text: string): AbsenceReason {
  if (/permission/.test(text)) return "denied";
  if (/^(n\/a|not supported|none|not available( in .*)?)$|deprecated/.test(text))
    return "unsupported";
  return "failed";
}
