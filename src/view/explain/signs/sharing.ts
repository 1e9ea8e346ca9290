/** Competition for what the job needs: another job on the GPU, or a machine short of memory or processors. */
import { gpu, host as hostMetrics, type MetricEntry } from "../../../model/catalogue/index.ts";
import { selector } from "../../../lake/analyses/anomaly/detectors/detector.ts";
import { EvidenceWriter, type Finding, seconds, sinceCell, type SignContext } from "../finding.ts";
import type { FleetCells, GpuCells, HostField } from "../fleet-cells.ts";
import { cellMs } from "../grid.ts";
import { changePoint, meanOfCells, medianOf } from "../statistics.ts";
import { percent } from "./cooling.ts";
import { minutes } from "./presence.ts";

/** Two owners in one cell are a change of jobs; from this many cells on, they share the GPU. */
const sharedCells = 9;
const pressureShare = 0.15;
const leastAvailable = 0.04;
const pressureCells = 15;

export function sharingSigns({ fleet, scope }: SignContext): Finding[] {
  const hosts = new Set(scope.map((cells) => cells.gpu.host));
  return [
    ...scope.flatMap((cells) => contentionSigns(fleet, cells)),
    ...[...hosts].flatMap((name) =>
      hostSigns(
        fleet,
        name,
        scope.filter((cells) => cells.gpu.host === name),
      ),
    ),
  ];
}

function contentionSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  const { grid } = fleet;
  const counts = Float64Array.from(cells.ownerCounts, (count) =>
    count === 0 ? Number.NaN : count,
  );
  const now = meanOfCells(counts, grid.cellCount - sharedCells, grid.cellCount);
  const usual = medianOf(counts);
  if (!(now >= 1.8) || now < usual + 0.8) return [];
  const departures = counts.map((count) => (count - usual) / 0.8);
  const since = sinceCell(grid, changePoint(departures, grid.recentCell));
  const evidence = new EvidenceWriter(fleet, cells);
  return [
    {
      cause: "contention",
      gpus: [cells],
      ...since,
      confidence: 0.8,
      summary: `${now.toFixed(0)} jobs have shared it for ${minutes(grid.timeMs - since.sinceMs)}, where ${usual.toFixed(0)} is usual: each gets a part of it`,
      evidence: [
        {
          metric: gpu.ownerInfo.name,
          value: Math.round(now),
          unit: "none",
          usual: Math.round(usual),
          sigmas: null,
          promql: `count(last_over_time(${selector(gpu.ownerInfo.name, cells.gpu)}[1m] @ ${seconds(grid.timeMs)}))`,
        },
        ...evidence.mean("utilization", grid.cellCount - 1),
      ],
    },
  ];
}

interface Pressure {
  readonly field: HostField;
  readonly metric: MetricEntry;
  readonly resource: string;
  readonly cause: "host_memory_pressure" | "host_cpu_pressure";
  readonly text: (share: string) => string;
}

const pressures: readonly Pressure[] = [
  {
    field: "memoryStalledSeconds",
    metric: hostMetrics.pressureStalled,
    resource: "memory",
    cause: "host_memory_pressure",
    text: (share) => `all its processes waited for memory for ${share} of the last five minutes`,
  },
  {
    field: "cpuWaitingSeconds",
    metric: hostMetrics.pressureWaiting,
    resource: "cpu",
    cause: "host_cpu_pressure",
    text: (share) => `processes waited for a processor for ${share} of the last five minutes`,
  },
];

function hostSigns(fleet: FleetCells, name: string, gpus: readonly GpuCells[]): Finding[] {
  const { grid } = fleet;
  const cells = fleet.host(name);
  if (cells === undefined) return [];
  const findings = pressures.flatMap(({ field, metric, resource, cause, text }): Finding[] => {
    const rate = rateOf(cells.get(field));
    const now = meanOfCells(rate, grid.cellCount - pressureCells, grid.cellCount);
    const usual = medianOf(rate) || 0;
    if (!(now > pressureShare) || now < 2 * usual) return [];
    const limit = Math.max(pressureShare, 2 * usual);
    return [
      {
        cause,
        gpus,
        ...sinceCell(
          grid,
          changePoint(
            rate.map((value) => value / limit),
            grid.recentCell,
          ),
        ),
        confidence: Math.min(0.88, 0.62 + now / 2),
        summary: `on ${name} ${text(percent(now))}, where ${percent(usual)} is usual`,
        evidence: [
          {
            metric: metric.name,
            value: now,
            unit: "ratio",
            usual,
            sigmas: null,
            promql: `rate(${metric.name}{host=${JSON.stringify(name)},resource="${resource}"}[${(pressureCells * cellMs) / 1_000}s] @ ${seconds(grid.timeMs)})`,
          },
        ],
      },
    ];
  });
  const available = cells.last("memoryAvailable", grid.since(5 * 60_000));
  const total = cells.last("memoryTotal");
  if (available === undefined || total === undefined || available > leastAvailable * total)
    return findings;
  if (findings.some(({ cause }) => cause === "host_memory_pressure")) return findings;
  const share = cells
    .get("memoryAvailable")
    .map((bytes) => (bytes < leastAvailable * total ? 1 : -1));
  return [
    ...findings,
    {
      cause: "host_memory_pressure",
      gpus,
      ...sinceCell(grid, changePoint(share, grid.recentCell)),
      confidence: 0.7,
      summary: `only ${percent(available / total)} of the memory of ${name} is left: its programs are swapped or killed next`,
      evidence: [
        {
          metric: hostMetrics.memoryAvailable.name,
          value: available,
          unit: "bytes",
          usual: medianOf(cells.get("memoryAvailable")),
          sigmas: null,
          promql: `last_over_time(${hostMetrics.memoryAvailable.name}{host=${JSON.stringify(name)}}[5m] @ ${seconds(grid.timeMs)})`,
        },
      ],
    },
  ];
}

/** Rate in seconds per second, per cell. */
function rateOf(counter: Float64Array): Float64Array {
  let before = Number.NaN;
  let beforeCell = 0;
  return counter.map((value, cell) => {
    if (Number.isNaN(value)) return Number.NaN;
    const elapsed = ((cell - beforeCell) * cellMs) / 1_000;
    const rate = value >= before && elapsed <= 60 ? (value - before) / elapsed : Number.NaN;
    before = value;
    beforeCell = cell;
    return rate;
  });
}
