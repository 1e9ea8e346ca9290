/** Load itself: a job that ended, or one that holds a GPU without using it. Only reported if the question is why a GPU is idle. */
import { EvidenceWriter, type Finding, meanOver, type SignContext } from "../finding.ts";
import type { FleetCells, GpuCells } from "../fleet-cells.ts";
import { cellMs } from "../grid.ts";
import { minutes } from "./presence.ts";

const idleShare = 0.03;
const idleCells = 15;

export function loadSigns({ fleet, scope }: SignContext): Finding[] {
  return scope.flatMap((cells) => idleSigns(fleet, cells));
}

function idleSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const end = grid.cellCount - 1;
  const utilization = cells.get("utilization");
  if (!(meanOver(utilization, end, idleCells) < idleShare)) return [];
  let first = end;
  while (first > grid.recentCell && !((utilization[first - 1] ?? 0) >= idleShare)) first -= 1;
  const sinceMs = grid.startMs(first);
  const isOlder = first <= grid.recentCell;
  const evidence = new EvidenceWriter(fleet, cells);
  const shown = [
    ...evidence.mean("utilization", end, undefined, undefined, idleCells),
    ...evidence.last("memoryBytes"),
  ];
  const owner = cells.owners.findLast((index, cell) => index >= 0 && cell > end - idleCells);
  const idleFor = minutes(grid.timeMs - sinceMs);
  if (owner !== undefined)
    return [
      {
        cause: "idle_held",
        gpus: [cells],
        sinceMs,
        isOlder,
        confidence: 0.8,
        summary: `the job ${cells.ownerNames[owner] ?? ""} holds it and has not used it for ${idleFor}`,
        evidence: shown,
      },
    ];
  const last = cells.owners.findLastIndex((index) => index >= 0);
  if (last < grid.recentCell) return [];
  const name = cells.ownerNames[cells.owners[last] ?? 0] ?? "";
  const endedMs = (grid.endMs[last] ?? grid.timeMs) - cellMs / 2;
  return [
    {
      cause: "job_ended",
      gpus: [cells],
      sinceMs: endedMs,
      isOlder: false,
      confidence: 0.75,
      summary: `its last job ${name} ended ${minutes(grid.timeMs - endedMs)} ago, and no other has started`,
      evidence: shown,
    },
  ];
}
