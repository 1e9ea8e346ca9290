/** The table's columns, one line each: head, order, cell. A new column takes one entry here and its width in table.css. */
import type { ComponentChild } from "preact";
import {
  type ColumnKey,
  type WireValue,
  wireAbsences,
} from "../../../../src/view/live/protocol.ts";
import {
  clock,
  clockMax,
  type Gpu,
  memoryRatio,
  memoryTotal,
  powerLimit,
  powerRatio,
  read,
  temperature,
  temperatureMargin,
  temperatureRatio,
} from "../../../../src/view/gpu.ts";
import type { SortKey } from "./sort.ts";
import { boundBadge, temperatureLevel, statusBadges } from "../../../../src/view/gpu-status.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { verdictLevels, verdictTip } from "../../../../src/view/health/words.ts";
import { verdicts } from "../../query/health.ts";
import { toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";
import { fleet, feedDelayMs } from "../../live/feed.ts";
import { GpuName } from "./gpu-name.tsx";
import { momentMs } from "./moment.ts";
import { Spark } from "./spark.tsx";
import { Absent, Bar, Value } from "../../ui/value.tsx";

export interface FleetColumn {
  readonly key: SortKey;
  readonly label: string;
  /** The catalogue metric that explains the head. */
  readonly metric?: ColumnKey;
  readonly family?: string;
  readonly numeric?: boolean;
  /** Replaces the default class, `c-` and the key. */
  readonly class?: string;
  /** Text for screen readers, if the label alone is too short. */
  readonly says?: string;
  readonly help?: string;
  readonly cell: (gpu: Gpu) => ComponentChild;
  readonly tip?: (gpu: Gpu) => string;
}

export const columns: readonly FleetColumn[] = [
  { key: "gpu", label: "GPU", cell: (gpu) => <GpuName gpu={gpu} /> },
  {
    key: "utilization",
    label: "Utilisation",
    metric: "utilization",
    family: "utilization",
    cell: (gpu) => (
      <>
        <Bar ratio={read(gpu, "utilization")} />
        <Value value={read(gpu, "utilization")} unit="ratio" />
        <Spark id={gpu.id} metric="utilization" max={1} />
      </>
    ),
    tip: (gpu) => provenance(gpu),
  },
  {
    key: "memory",
    label: "Memory",
    metric: "memoryUsed",
    family: "memory",
    cell: (gpu) => (
      <>
        <Bar ratio={memoryRatio(gpu)} />
        <span class="wide">
          <Value value={read(gpu, "memoryUsed")} unit="bytes" of={memoryTotal(gpu)} />
        </span>
        <span class="narrow">
          <Value value={memoryRatio(gpu)} unit="ratio" />
        </span>
      </>
    ),
    tip: (gpu) => lines(say("used", memoryRatio(gpu), "ratio"), provenance(gpu)),
  },
  {
    key: "power",
    label: "Power",
    metric: "power",
    family: "power",
    cell: (gpu) => (
      <>
        <Bar ratio={powerRatio(gpu)} />
        <Value value={read(gpu, "power")} unit="watts" of={powerLimit(gpu)} />
        <Spark id={gpu.id} metric="power" max={limitOr(powerLimit(gpu), 500)} />
      </>
    ),
    tip: (gpu) => lines(say("of its limit", powerRatio(gpu), "ratio"), provenance(gpu)),
  },
  {
    key: "temperature",
    label: "Temp",
    metric: "temperatureEdge",
    family: "temperature",
    cell: (gpu) => (
      <>
        <Bar ratio={temperatureRatio(gpu)} level={temperatureLevel(gpu)} />
        <span class={temperatureLevel(gpu)}>
          <Value value={temperature(gpu)} unit="celsius" />
        </span>
      </>
    ),
    tip: temperatureTip,
  },
  {
    key: "clock",
    label: "SM clock",
    metric: "clockSm",
    family: "clock",
    numeric: true,
    cell: (gpu) => <Value value={clock(gpu)} unit="hertz" />,
    tip: (gpu) =>
      lines(
        say("highest", clockMax(gpu), "hertz"),
        say("memory", read(gpu, "clockMemory"), "hertz"),
        provenance(gpu),
      ),
  },
  {
    key: "fan",
    label: "Fan",
    metric: "fan",
    family: "fan",
    numeric: true,
    cell: (gpu) => <Value value={read(gpu, "fan")} unit="ratio" />,
  },
  {
    key: "bound",
    label: "Bound by",
    says: "Bound by: what limits its work",
    help: "What held the GPU's work back over the last minute (gpu_bound).",
    cell: (gpu) => <Bound gpu={gpu} />,
    tip: (gpu) => boundBadge(gpu)?.tip ?? "",
  },
  { key: "state", label: "State", cell: (gpu) => <Words gpu={gpu} /> },
  {
    key: "job",
    label: "Job",
    cell: ({ row }) => <span class="job">{row.job}</span>,
    tip: ({ row }) =>
      row.job === undefined
        ? ""
        : lines(row.job, row.user === undefined ? "" : `started by ${row.user}`),
  },
  {
    key: "age",
    label: "Age",
    numeric: true,
    cell: ({ row }) =>
      row.ageMs.fast === undefined ? (
        <Absent reason="stale" />
      ) : (
        <span class="unit">{formatAge(row.ageMs.fast + feedDelayMs.value)}</span>
      ),
  },
];

function Bound({ gpu }: { gpu: Gpu }) {
  const bound = boundBadge(gpu);
  if (bound !== undefined)
    return <span class={bound.text === "idle" ? "unit" : bound.level}>{bound.text}</span>;
  const reason = wireAbsences.find((absence) => absence === gpu.row.bound);
  return <Absent reason={reason ?? "unsupported"} />;
}

/** Shows the verdict unless it is healthy, with everything else in its tooltip; without a verdict, the badges. */
function Words({ gpu }: { gpu: Gpu }) {
  const badges = statusBadges(gpu);
  // The hub judges the present only.
  const isJudged = gpu.state !== "lost" && momentMs.value === undefined;
  const verdict = isJudged ? verdicts.value.get(gpu.id) : undefined;
  const words =
    verdict === undefined || verdict.state === "unknown"
      ? badges
      : [
          {
            text: verdict.state,
            level: verdictLevels[verdict.state],
            tip: lines(verdictTip(verdict), badges.map(({ text }) => text).join(", ")),
          },
        ];
  if (words.length > 0) {
    return words.map(({ text, level, tip }) => (
      <span key={text} class={`word ${level}`} data-tip={tip}>
        {text}
      </span>
    ));
  }
  if (typeof gpu.row.throttle === "string") return <Absent reason={gpu.row.throttle} />;
  return gpu.state === "idle" ? <span class="unit">idle</span> : null;
}

function temperatureTip(gpu: Gpu): string {
  const margin = temperatureMargin(gpu);
  return lines(
    say("edge", read(gpu, "temperatureEdge"), "celsius"),
    say("hotspot", read(gpu, "temperatureHotspot"), "celsius"),
    say("memory", read(gpu, "temperatureMemory"), "celsius"),
    say("slows down at", gpu.device.facts.limitSlowdown, "celsius"),
    typeof margin === "number" && margin > 0
      ? `${formatWithUnit(toColumnQuantity(margin, "celsius"))} below ${typeof gpu.device.facts.limitSlowdown === "number" ? "that" : "slowing down"}`
      : "",
    provenance(gpu),
  );
}

/** The source and age of a number. */
function provenance({ device, row }: Gpu): string {
  if (row.ageMs.fast === undefined) return "";
  return `${device.source} · ${formatAge(row.ageMs.fast + feedDelayMs.value)} ago`;
}

function say(
  label: string,
  value: WireValue,
  unit: Parameters<typeof toColumnQuantity>[1],
): string {
  if (typeof value !== "number") return "";
  const shown = formatWithUnit(toColumnQuantity(value, unit));
  return unit === "ratio" ? `${shown} ${label}` : `${label} ${shown}`;
}

const lines = (...parts: readonly string[]): string =>
  parts.filter((part) => part !== "").join("\n");
const limitOr = (limit: WireValue, otherwise: number): number =>
  typeof limit === "number" ? limit : otherwise;

/** The metric's help from the catalogue. */
export function helpOf({ metric, help }: FleetColumn): string | undefined {
  if (help !== undefined) return help;
  const column = fleet.value?.columns.find(({ key }) => key === metric);
  return column === undefined ? undefined : `${column.help}\n${column.metric}`;
}
