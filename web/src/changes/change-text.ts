/** Describes a change: its values, and its distance from the usual. */
import { formatChangeValue } from "../../../src/view/changes/quantity.ts";
import type { SeriesChange } from "../../../src/view/changes/report.ts";

const shown = (value: number | null, unit: string): string =>
  value === null ? "n/a" : formatChangeValue(value, unit);

export function numbersOf({ kind, before, after, unit, series }: SeriesChange): string {
  switch (kind) {
    case "moved":
      return `${shown(before, unit)} → ${shown(after, unit)}`;
    case "grew":
      return `+${shown(after, unit)} (${before === null ? "none" : `+${shown(before, unit)}`} in as long before)`;
    case "stopped":
      return series > 1 ? "stopped reporting" : "ended";
    case "began":
      return "began";
  }
}

export function distanceOf({ sigmas, peers, unit }: SeriesChange): string {
  const own = sigmas === null ? [] : [`${sigmas.toFixed(0)} sigmas from its own history`];
  if (peers === null) return own.join("");
  const apart =
    peers.sigmas < 2
      ? `its ${peers.count} peers changed alike, ${shown(peers.value, unit)}`
      : `its ${peers.count} peers are at ${shown(peers.value, unit)}, ${peers.sigmas.toFixed(0)} sigmas apart`;
  return [...own, apart].join("; ");
}
