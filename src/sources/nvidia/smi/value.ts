/** One cell of nvidia-smi's output as a number in the catalogue's unit, or the reason why it is none. Pure. */
import type { AbsenceReason } from "../../../model/presence.ts";

/** What a cell holds; where it carries no unit (`--format=nounits`) it is in the one nvidia-smi would have written. */
export type CellKind =
  | "ratio"
  | "bytes"
  | "celsius"
  | "watts"
  | "hertz"
  | "count"
  | "seconds"
  | "rate"
  | "yes"
  | "pstate";

const units: Readonly<Record<CellKind, Readonly<Record<string, number>>>> = {
  ratio: { "": 0.01, "%": 0.01 },
  bytes: { "": 1_048_576, kib: 1_024, mib: 1_048_576, gib: 1_073_741_824 },
  celsius: { "": 1, c: 1 },
  watts: { "": 1, w: 1, mw: 0.001 },
  hertz: { "": 1e6, mhz: 1e6, ghz: 1e9, khz: 1e3 },
  count: { "": 1, x: 1 },
  seconds: { "": 1e-6, us: 1e-6, ms: 1e-3, s: 1, ns: 1e-9 },
  rate: { "": 1e3, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9 },
  yes: {},
  pstate: {},
};

export type Cell = number | AbsenceReason;

export function readCell(given: string, kind: CellKind): Cell {
  const text = given
    .trim()
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (kind === "yes") {
    if (["active", "enabled", "yes", "1"].includes(text)) return 1;
    if (["not active", "disabled", "no", "none", "0"].includes(text)) return 0;
    return absence(text);
  }
  if (kind === "pstate") {
    const state = /^p(\d{1,2})$/.exec(text)?.[1];
    return state === undefined ? absence(text) : Number(state);
  }
  const match = /^(-?\d{1,20}(?:\.\d{1,9})?)\s*([a-z%/]*)$/.exec(text);
  if (match === null) return absence(text);
  const unit = match[2] ?? "";
  // A cell may say "constructor", which every object has.
  const scale = Object.hasOwn(units[kind], unit) ? units[kind][unit] : undefined;
  return scale === undefined ? "failed" : Number(match[1]) * scale;
}

/** `N/A`, `[Not Supported]`, `Requested functionality has been deprecated`, `[Insufficient Permissions]`, `ERR!`, `GPU is lost` … */
function absence(text: string): AbsenceReason {
  if (/permission/.test(text)) return "denied";
  if (/^(n\/a|not supported|none|not available)$|deprecated/.test(text)) return "unsupported";
  return "failed";
}
