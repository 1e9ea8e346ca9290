/** Memory of a job that only grows, and memory that is full. */
import { EvidenceWriter, type Finding, newestCells, type SignContext } from "../finding.ts";
import type { FleetCells, GpuCells } from "../fleet-cells.ts";
import { cellMs } from "../grid.ts";
import { percent } from "./cooling.ts";
import { minutes } from "./presence.ts";

/** A job loads its data at the start. */
const startCells = 4;
const leastMs = 6 * 60_000;
/** Growth as a share of the card's memory. */
const leastGrowth = 0.015;
/** Share of the minutes in which the memory has to grow. */
const risingShare = 0.8;
const fullShare = 0.98;
const minuteCells = 3;
const hangMs = 10 * 60_000;

export function memorySigns({ fleet, scope }: SignContext): Finding[] {
  return scope.flatMap((cells) => leakSigns(fleet, cells));
}

function leakSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const memory = cells.get("memoryBytes");
  const total = cells.last("memoryTotal") ?? Number.NaN;
  // While a driver hangs, the last reading before it counts.
  const end = newestCells(grid, (cell) => !Number.isNaN(memory[cell] ?? Number.NaN), 1, hangMs)[0];
  const owner = end === undefined ? undefined : ownerAt(cells, end);
  if (end === undefined || owner === undefined || Number.isNaN(total)) return [];
  let first = end;
  // While a driver hangs, no owner is reported, but the job goes on.
  const isSame = (cell: number): boolean =>
    cells.owners[cell] === owner || (cells.owners[cell] === -1 && Number.isNaN(memory[cell]));
  while (first > grid.recentCell && isSame(first - 1)) first -= 1;
  while (first < end && cells.owners[first] !== owner) first += 1;
  // If the job started before the window, none of the growth is loading.
  if (first > grid.recentCell) first += startCells;
  const full = fullSigns(fleet, cells, total);
  if ((end - first) * cellMs < leastMs) return full;
  const growth = growthOf(memory, first, end);
  if (growth === undefined || growth.bytes < leastGrowth * total) return full;
  const perHour = (growth.bytes / total / ((growth.to - growth.from) * cellMs)) * 3_600_000;
  const evidence = new EvidenceWriter(fleet, cells);
  const [now] = evidence.last("memoryBytes", memory[growth.from]);
  return [
    {
      cause: "memory_leak",
      gpus: [cells],
      sinceMs: grid.startMs(growth.from),
      isOlder: growth.from <= grid.recentCell,
      confidence: Math.min(0.93, 0.65 + 0.28 * Math.min(1, growth.bytes / total / 0.08)),
      summary: `its job ${cells.ownerNames[owner] ?? ""} took ${percent(growth.bytes / total)} of the memory within ${minutes((growth.to - growth.from) * cellMs)} and gave nothing back: ${percent(perHour)} an hour, ${percent((now?.value ?? 0) / total)} used`,
      evidence: now === undefined ? [] : [now],
    },
    ...full,
  ];
}

function ownerAt(cells: GpuCells, end: number): number | undefined {
  // Owners are read on a slower schedule than memory.
  for (let cell = end; cell > end - minuteCells; cell--) {
    const owner = cells.owners[cell] ?? -1;
    if (owner >= 0) return owner;
  }
  return undefined;
}

/** Returns the longest stretch that rises and hardly ever falls, up to the end or up to where the memory is full. */
function growthOf(
  memory: Float64Array,
  first: number,
  end: number,
): { readonly from: number; readonly to: number; readonly bytes: number } | undefined {
  let to = end;
  while (to > first && Number.isNaN(memory[to])) to -= 1;
  const last = memory[to] as number;
  // A constant level at the end means that the card is full.
  while (to - minuteCells > first && (memory[to - minuteCells] as number) >= last) to -= 1;
  let best: { from: number; to: number; bytes: number } | undefined;
  let rises = 0;
  let steps = 0;
  for (let cell = to - minuteCells; cell >= first; cell -= minuteCells) {
    const before = memory[cell] as number;
    const after = memory[cell + minuteCells] as number;
    if (Number.isNaN(before) || Number.isNaN(after)) continue;
    // A program that frees memory does not leak before that point.
    if (after < before) break;
    steps += 1;
    if (after > before) rises += 1;
    const isLong = (to - cell) * cellMs >= leastMs;
    if (isLong && rises >= risingShare * steps) best = { from: cell, to, bytes: last - before };
  }
  return best;
}

function fullSigns(fleet: FleetCells, cells: GpuCells, total: number): Finding[] {
  const { grid } = fleet;
  const memory = cells.get("memoryBytes");
  const now = cells.last("memoryBytes", grid.since(5 * 60_000));
  if (now === undefined || now < fullShare * total) return [];
  let first = grid.cellCount - 1;
  while (first > grid.recentCell && !((memory[first - 1] as number) < fullShare * total))
    first -= 1;
  return [
    {
      cause: "memory_full",
      gpus: [cells],
      sinceMs: grid.startMs(first),
      isOlder: first <= grid.recentCell,
      confidence: 0.62,
      summary: `${percent(now / total)} of its memory is used: the next allocation fails`,
      evidence: new EvidenceWriter(fleet, cells).last("memoryBytes"),
    },
  ];
}
