/** Errors that the hardware counts: Xids, memory, PCIe and links to other GPUs. Facts, not statistics. */
import { gpu } from "../../../model/catalogue/index.ts";
import { selector } from "../../../lake/analyses/anomaly/detectors/detector.ts";
import { findXid } from "../../health/xids.ts";
import {
  EvidenceWriter,
  type Finding,
  newestCells,
  seconds,
  sinceCell,
  type SignContext,
} from "../finding.ts";
import type { CellField, FleetCells, GpuCells } from "../fleet-cells.ts";
import { medianOf, quantileOf } from "../statistics.ts";

/** A driver error counts as an explanation for this long. */
const xidWithinMs = 30 * 60_000;
const countWithinMs = 30 * 60_000;
/** Fewer corrected errors within half an hour are normal. */
const leastCorrected = 5;
const leastInterconnectErrors = 20;
const leastReplays = 40;
const busyShare = 0.2;

export function errorSigns({ fleet, scope }: SignContext): Finding[] {
  return scope.flatMap((cells) => [
    ...xidSigns(fleet, cells),
    ...eccSigns(fleet, cells),
    ...interconnectSigns(fleet, cells),
    ...pcieSigns(fleet, cells),
  ]);
}

function xidSigns({ grid }: FleetCells, cells: GpuCells): Finding[] {
  const recent = cells.xids.filter(({ atMs }) => atMs > grid.timeMs - xidWithinMs);
  const numbers = new Set(recent.map(({ xid }) => xid));
  return [...numbers].flatMap((xid): Finding[] => {
    const own = recent.filter((event) => event.xid === xid);
    const entry = findXid(xid);
    // An Xid that only follows another one of the same burst explains nothing by itself.
    if (entry?.isFollowUp === true && numbers.size > 1) return [];
    const count = own.reduce((sum, event) => sum + event.count, 0);
    const sinceMs = Math.min(...own.map(({ atMs }) => atMs));
    const isFault = entry?.state !== "healthy";
    const one = selector(gpu.xidErrors.name, cells.gpu, `,xid="${xid}"`);
    return [
      {
        cause: "xid_error",
        gpus: [cells],
        sinceMs,
        isOlder: false,
        confidence: isFault ? 0.97 : 0.9,
        ...(isFault ? { runbook: "GpuXidCritical" } : {}),
        summary:
          `reported Xid ${xid}${entry === undefined ? "" : ` (${entry.name})`}${count > 1 ? ` ${count} times` : ""}${entry === undefined ? "" : `: ${lowerFirst(entry.meaning)}`}`.replace(
            /\.$/,
            "",
          ),
        evidence: [
          {
            metric: gpu.xidErrors.name,
            value: count,
            unit: "none",
            usual: 0,
            sigmas: null,
            promql: `sum(last_over_time(${one}[5m] @ ${seconds(grid.timeMs)})) - (sum(last_over_time(${one}[5m] @ ${seconds(sinceMs - 1)})) or vector(0))`,
          },
        ],
      },
    ];
  });
}

const lowerFirst = (text: string): string =>
  /^[A-Z] ?[a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;

interface CounterGrowth {
  readonly count: number;
  readonly firstCell: number;
}

/** Growth of a counter over the cells [from, to), without resets, and the first cell in which it grew. */
function growthOf(cells: GpuCells, field: CellField, from: number, to: number): CounterGrowth {
  const column = cells.get(field);
  let before: number | undefined;
  let count = 0;
  let firstCell = -1;
  for (let cell = from; cell < to; cell++) {
    const value = column[cell] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    if (before !== undefined && value !== before) {
      count += value > before ? value - before : value;
      if (firstCell < 0) firstCell = cell;
    }
    before = value;
  }
  return { count, firstCell };
}

function eccSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const from = grid.since(countWithinMs);
  const corrected = growthOf(cells, "eccCorrected", from, grid.cellCount);
  const uncorrected = growthOf(cells, "eccUncorrected", from, grid.cellCount);
  const before = growthOf(cells, "eccCorrected", grid.recentCell, from);
  const usual = (before.count * (grid.cellCount - from)) / Math.max(1, from - grid.recentCell);
  const isGrowing = corrected.count >= Math.max(leastCorrected, 3 * usual);
  if (!isGrowing && uncorrected.count === 0) return [];
  const all = growthOf(
    cells,
    corrected.count > 0 ? "eccCorrected" : "eccUncorrected",
    grid.recentCell,
    grid.cellCount,
  );
  const sinceMs = grid.startMs(Math.max(0, all.firstCell));
  const fromMs = grid.startMs(from);
  const evidence = new EvidenceWriter(fleet, cells);
  return [
    {
      cause: "ecc_errors",
      gpus: [cells],
      sinceMs,
      isOlder: false,
      confidence: uncorrected.count > 0 ? 0.95 : Math.min(0.93, 0.75 + corrected.count / 500),
      summary: `its memory had ${corrected.count} corrected and ${uncorrected.count} uncorrectable errors within half an hour`,
      evidence: [
        ...evidence.growth("eccCorrected", corrected.count, fromMs, usual),
        ...evidence.growth("eccUncorrected", uncorrected.count, fromMs, 0),
      ],
    },
  ];
}

function interconnectSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const from = grid.since(countWithinMs);
  const now = growthOf(cells, "interconnectErrors", from, grid.cellCount);
  const before = growthOf(cells, "interconnectErrors", grid.recentCell, from);
  const usual = (before.count * (grid.cellCount - from)) / Math.max(1, from - grid.recentCell);
  if (now.count < Math.max(leastInterconnectErrors, 3 * usual)) return [];
  return [
    {
      cause: "interconnect_errors",
      gpus: [cells],
      ...sinceCell(grid, now.firstCell),
      confidence: 0.85,
      summary: `its links to other GPUs had ${now.count} errors within half an hour`,
      evidence: new EvidenceWriter(fleet, cells).growth(
        "interconnectErrors",
        now.count,
        grid.startMs(from),
        usual,
      ),
    },
  ];
}

/** An idle link may lower its generation to save power, so the generation counts only under load; lanes always count. */
function pcieSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const width = cells.get("linkWidth");
  const generation = cells.get("linkGeneration");
  const utilization = cells.get("utilization");
  const isBusy = (cell: number): boolean => (utilization[cell] ?? 0) > busyShare;
  const usualWidth = usualOf(cells, "linkWidth", () => true);
  const usualGeneration = usualOf(cells, "linkGeneration", isBusy);
  const [widthCell] = newestCells(grid, (cell) => !Number.isNaN(width[cell] ?? Number.NaN), 1);
  const busy = newestCells(
    grid,
    (cell) => isBusy(cell) && !Number.isNaN(generation[cell] ?? Number.NaN),
    3,
  );
  const nowWidth = widthCell === undefined ? Number.NaN : (width[widthCell] ?? Number.NaN);
  const nowGeneration = medianOf(busy.map((cell) => generation[cell] ?? Number.NaN));
  const isNarrow = nowWidth < usualWidth;
  const isSlow = nowGeneration < usualGeneration;
  if (!isNarrow && !isSlow) return [];
  const field = isNarrow ? "linkWidth" : "linkGeneration";
  const usual = isNarrow ? usualWidth : usualGeneration;
  const column = cells.get(field);
  let first = grid.cellCount - 1;
  for (let cell = grid.cellCount - 1; cell >= grid.recentCell; cell--) {
    const value = column[cell] ?? Number.NaN;
    if (Number.isNaN(value) || (!isNarrow && !isBusy(cell))) continue;
    if (value >= usual) break;
    first = cell;
  }
  const replays = growthOf(cells, "linkReplays", grid.since(countWithinMs), grid.cellCount);
  const since = sinceCell(grid, first);
  const evidence = new EvidenceWriter(fleet, cells);
  const text = [
    ...(isNarrow ? [`${nowWidth} of ${usualWidth} lanes`] : []),
    ...(isSlow ? [`generation ${nowGeneration} instead of ${usualGeneration}`] : []),
  ].join(" and ");
  return [
    {
      cause: "pcie_degraded",
      gpus: [cells],
      ...since,
      // A state that has lasted for a day or more may be due to the slot.
      confidence: since.isOlder ? 0.6 : 0.94,
      summary: `its PCIe link has ${text}${replays.count >= leastReplays ? `, and ${replays.count} packets were sent again within half an hour` : ""}`,
      evidence: [
        ...(isNarrow ? evidence.last("linkWidth", usualWidth) : []),
        ...(isSlow
          ? evidence.max("linkGeneration", busy.at(-1) ?? grid.cellCount - 1, usualGeneration)
          : []),
        ...(replays.count >= leastReplays
          ? evidence.growth("linkReplays", replays.count, grid.startMs(grid.since(countWithinMs)))
          : []),
      ],
    },
  ];
}

/** The value for a good part of the time; a fault of two hours does not change it. */
function usualOf(cells: GpuCells, field: CellField, counts: (cell: number) => boolean): number {
  return quantileOf(
    cells.get(field).map((value, cell) => (counts(cell) ? value : Number.NaN)),
    0.85,
  );
}
