/** Clocks that are lower than usual under load, and why: the power supply, a setting, heat, or a lower power limit. */
import {
  confidenceOf,
  EvidenceWriter,
  type Finding,
  meanOver,
  newestCells,
  sinceCell,
  type SignContext,
} from "../finding.ts";
import type { CellField, FleetCells, GpuCells } from "../fleet-cells.ts";
import { changePoint, medianOf, quantileOf, sigmaOf } from "../statistics.ts";
import { percent } from "./cooling.ts";

const busyShare = 0.3;
/** Above this share of the power limit, a lower clock is expected. */
const nearLimit = 0.85;
/** A clock below this share of the usual one is not noise. */
const lowClock = 0.93;
const heldShare = 0.2;
const heatShare = 0.1;

export function speedSigns({ fleet, scope }: SignContext): Finding[] {
  return scope.flatMap((cells) => [
    ...heldSigns(fleet, cells),
    ...limitSigns(fleet, cells),
    ...clockSigns(fleet, cells),
  ]);
}

/** Throttle reasons that the card itself reports. */
function heldSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const utilization = cells.get("utilization");
  const isBusy = (cell: number): boolean => (utilization[cell] ?? 0) > busyShare;
  const held = (
    field: CellField,
    least: number,
  ): { readonly share: number; readonly first: number; readonly end: number } | undefined => {
    const column = cells.get(field);
    if (column.length === 0) return undefined;
    const focus = newestCells(grid, isBusy);
    const share = meanOf(focus.map((cell) => column[cell] ?? 0));
    if (focus.length < 3 || share < least) return undefined;
    const departures = column.map((value, cell) => (isBusy(cell) ? value / least : Number.NaN));
    const first = changePoint(departures, grid.recentCell);
    return { share, first, end: focus.at(-1) ?? grid.cellCount - 1 };
  };
  const evidence = new EvidenceWriter(fleet, cells);
  const findings: Finding[] = [];
  const brake = held("braked", heldShare);
  if (brake !== undefined)
    findings.push({
      cause: "power_brake",
      gpus: [cells],
      ...sinceCell(grid, brake.first),
      confidence: 0.95,
      summary: `the power supply slowed it down for ${percent(brake.share)} of its last busy minutes, to ${megahertz(meanOver(cells.get("clock"), brake.end))}`,
      evidence: [
        ...evidence.mean("braked", brake.end, 0),
        ...evidence.max("clock", brake.end, usualClock(fleet, cells)),
      ],
    });
  const heat = held("heatThrottled", heatShare);
  if (heat !== undefined)
    findings.push({
      cause: "thermal_throttling",
      gpus: [cells],
      ...sinceCell(grid, heat.first),
      confidence: 0.7,
      summary: `heat held its clocks down for ${percent(heat.share)} of its last busy minutes`,
      evidence: [
        ...evidence.mean("heatThrottled", heat.end, 0),
        ...evidence.mean(cells.celsiusField, heat.end),
      ],
    });
  return findings;
}

const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

const megahertz = (hertz: number): string => `${(hertz / 1e6).toFixed(0)} MHz`;

function limitSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const limit = cells.get("powerLimit");
  const usual = quantileOf(limit, 0.85);
  const now = cells.last("powerLimit", grid.recentCell);
  if (now === undefined || !(now < 0.97 * usual)) return [];
  const departures = limit.map((watts) => (watts < 0.97 * usual ? 1 : -1));
  const capped = meanOver(cells.get("capped"), grid.cellCount - 1);
  return [
    {
      cause: "power_limit_lowered",
      gpus: [cells],
      ...sinceCell(grid, changePoint(departures, grid.recentCell)),
      confidence: capped > 0.5 ? 0.93 : 0.75,
      summary: `its power limit is ${now.toFixed(0)} W, where it was ${usual.toFixed(0)} W`,
      evidence: new EvidenceWriter(fleet, cells).last("powerLimit", usual),
    },
  ];
}

/** True if nothing else limits the clock: busy, not near the power limit, not throttled by heat. */
function isFree(cells: GpuCells, cell: number): boolean {
  const watts = cells.get("power")[cell] ?? Number.NaN;
  const limit = cells.last("powerLimit") ?? Number.POSITIVE_INFINITY;
  return (
    (cells.get("utilization")[cell] ?? 0) > busyShare &&
    (cells.get("heatThrottled")[cell] || 0) < heatShare &&
    (cells.get("braked")[cell] || 0) < heldShare &&
    // Relative to utilization: pauses lower the mean power of a card at its limit.
    (watts < nearLimit * limit * (cells.get("utilization")[cell] ?? 1) ||
      (cells.get("capped")[cell] || 0) < 0.3)
  );
}

function freeClocks(cells: GpuCells): Float64Array {
  return cells.get("clock").map((hertz, cell) => (isFree(cells, cell) ? hertz : Number.NaN));
}

/** The usual clock from the card's own history, or from the other GPUs of its model if it has hardly been busy. */
function usualClock(fleet: FleetCells, cells: GpuCells): number {
  const own = quantileOf(freeClocks(cells), 0.8);
  const peers = medianOf(
    fleet.gpus
      .filter((other) => other !== cells && other.gpu.model === cells.gpu.model)
      .map((other) => quantileOf(freeClocks(other), 0.8)),
  );
  return Math.max(own || 0, peers || 0);
}

/** The usual clocks of the model, because the card's own history may contain only low clocks. */
const usualClocks = (fleet: FleetCells, { gpu }: GpuCells, usual: number): readonly number[] =>
  fleet.gpus
    .filter((one) => one.gpu.model === gpu.model)
    .flatMap((one) => [...freeClocks(one)].filter((hertz) => hertz > lowClock * usual));

function clockSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const clocks = freeClocks(cells);
  const usual = usualClock(fleet, cells);
  if (usual === 0) return [];
  const departures = clocks.map((hertz) => (1 - hertz / usual) / (1 - lowClock));
  const focus = newestCells(grid, (cell) => !Number.isNaN(departures[cell] ?? Number.NaN));
  const ratio = medianOf(focus.map((cell) => departures[cell] as number));
  if (focus.length < 4 || !(ratio > 1)) return [];
  const end = focus.at(-1) ?? grid.cellCount - 1;
  const hertz = medianOf(focus.map((cell) => clocks[cell] as number));
  const setting = meanOf(focus.map((cell) => cells.get("clockSetting")[cell] || 0));
  const sigma = Math.max(0.01 * usual, sigmaOf(usualClocks(fleet, cells, usual)) || 0);
  const evidence = new EvidenceWriter(fleet, cells);
  const why = cells.has("clockSetting")
    ? setting > 0.5
      ? "its driver names a clock setting as the reason"
      : "without a reason reported"
    : "neither heat nor power holds it down, and its driver names no other reason: a locked clock, or a brake of the power supply";
  return [
    {
      cause: "stuck_clocks",
      gpus: [cells],
      ...sinceCell(grid, changePoint(departures, grid.recentCell)),
      confidence: confidenceOf(ratio),
      summary: `its clock stays at ${megahertz(hertz)} under load, where ${megahertz(usual)} is usual; ${why}`,
      evidence: [
        ...evidence.max("clock", end, usual, (usual - hertz) / sigma),
        ...evidence.mean("utilization", end),
        ...evidence.mean("clockSetting", end, 0),
      ],
    },
  ];
}
