/** GPUs that do not respond: a single GPU, all GPUs of a machine (its driver hangs), or a machine that sends nothing. */
import { selector } from "../../../lake/analyses/anomaly/detectors/detector.ts";
import { gpu } from "../../../model/catalogue/index.ts";
import { EvidenceWriter, type Finding, seconds, type SignContext } from "../finding.ts";
import type { FleetCells, GpuCells } from "../fleet-cells.ts";
import { cellMs } from "../grid.ts";

/** A machine without a sample for this long is silent. */
const silentMs = 90_000;
/** A GPU that stopped this long before the others is lost by itself. */
const lostBeforeMs = 60_000;

export function presenceSigns({ fleet, scope }: SignContext): Finding[] {
  const hosts = new Set(scope.map(({ gpu: own }) => own.host));
  return [...hosts].flatMap((host) => {
    const all = fleet.gpus.filter(({ gpu: own }) => own.host === host);
    const asked = scope.filter(({ gpu: own }) => own.host === host);
    return hostSigns(fleet, host, all, asked);
  });
}

function hostSigns(
  fleet: FleetCells,
  host: string,
  all: readonly GpuCells[],
  asked: readonly GpuCells[],
): Finding[] {
  const silence = silentSince(fleet, all);
  if (silence !== undefined) return [silentFinding(fleet, host, asked, silence)];
  const down = all.filter((cells) => isDown(fleet, cells));
  const lost = asked.filter((cells) => down.includes(cells));
  if (lost.length === 0) return [];
  const isSourceDown = fleet.host(host)?.last("sourceSuccess", recent(fleet)) === 0;
  const isHung =
    (down.length === all.length && all.length > 1) || (isSourceDown && down.length === all.length);
  // A single GPU may have been lost before.
  const hungMs = Math.max(...down.map((cells) => downSince(fleet, cells)));
  const before = isHung
    ? lost.filter((cells) => downSince(fleet, cells) < hungMs - lostBeforeMs)
    : lost;
  return [
    ...(isHung ? [hungFinding(fleet, host, all, lost, hungMs)] : []),
    ...before.map((cells) => lostFinding(fleet, host, cells, all.length - down.length)),
  ];
}

function hungFinding(
  { grid }: FleetCells,
  host: string,
  all: readonly GpuCells[],
  gpus: readonly GpuCells[],
  sinceMs: number,
): Finding {
  return {
    cause: "driver_hung",
    gpus,
    sinceMs,
    isOlder: sinceMs <= (grid.endMs[grid.recentCell] ?? 0),
    confidence: 0.99,
    summary: `none of the ${all.length} GPUs of ${host} has responded for ${minutes(grid.timeMs - sinceMs)}, while its agent reports: the driver or the reading of it hangs`,
    evidence: [
      {
        metric: gpu.up.name,
        value: 0,
        unit: "none",
        usual: all.length,
        sigmas: null,
        promql: `sum(last_over_time(gpu_up{host=${JSON.stringify(host)}}[2m] @ ${seconds(grid.timeMs)}))`,
      },
    ],
  };
}

/** @param others number of GPUs of the machine that still respond */
function lostFinding(fleet: FleetCells, host: string, cells: GpuCells, others: number): Finding {
  const sinceMs = downSince(fleet, cells);
  return {
    cause: "gpu_lost",
    gpus: [cells],
    sinceMs,
    isOlder: sinceMs <= (fleet.grid.endMs[fleet.grid.recentCell] ?? 0),
    confidence: others > 0 ? 0.98 : 0.85,
    summary: `has not responded for ${minutes(fleet.grid.timeMs - sinceMs)}${others > 0 ? `, while the ${others === 1 ? "other GPU" : `${others} others`} on ${host} ${others === 1 ? "does" : "do"}` : ""}`,
    evidence: new EvidenceWriter(fleet, cells).last("up", 1),
  };
}

const recent = ({ grid }: FleetCells): number => grid.since(2 * 60_000);

/** True if the newest `up` reading is 0. */
const isDown = (fleet: FleetCells, cells: GpuCells): boolean =>
  cells.last("up", recent(fleet)) === 0;

function downSince({ grid }: FleetCells, cells: GpuCells): number {
  const up = cells.get("up");
  let since = grid.cellCount - 1;
  for (let cell = grid.cellCount - 1; cell >= grid.recentCell; cell--) {
    const value = up[cell] ?? Number.NaN;
    if (value === 1) break;
    if (value === 0) since = cell;
  }
  return grid.startMs(since);
}

/** Returns when a machine sent its last sample, if that is long ago. */
function silentSince({ grid }: FleetCells, all: readonly GpuCells[]): number | undefined {
  let newest = -1;
  for (const cells of all)
    for (const field of ["up", "power", "utilization"] as const) {
      const column = cells.get(field);
      for (let cell = column.length - 1; cell > newest; cell--)
        if (!Number.isNaN(column[cell])) newest = cell;
    }
  const lastMs = newest < 0 ? grid.fromMs : (grid.endMs[newest] ?? grid.fromMs);
  return grid.timeMs - lastMs > silentMs ? lastMs : undefined;
}

function silentFinding(
  { grid }: FleetCells,
  host: string,
  asked: readonly GpuCells[],
  sinceMs: number,
): Finding {
  const [first] = asked;
  return {
    cause: "host_silent",
    gpus: asked,
    sinceMs,
    isOlder: sinceMs <= grid.fromMs,
    confidence: 0.9,
    summary: `no reading of the GPUs of ${host} has arrived for ${minutes(grid.timeMs - sinceMs)}: the machine, its network or its agent is down`,
    evidence:
      first === undefined
        ? []
        : [
            {
              metric: gpu.up.name,
              value: 0,
              unit: "none",
              usual: Math.round((5 * 60_000) / cellMs),
              sigmas: null,
              promql: `count_over_time(${selector(gpu.up.name, first.gpu)}[90s] @ ${seconds(grid.timeMs)}) or vector(0)`,
            },
          ],
  };
}

export function minutes(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 120 * 60_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}
