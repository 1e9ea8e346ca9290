/** The table's columns for statistics over the range: now, min, mean and max of each reading. */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { toColumnQuantity } from "../../format/quantity.ts";
import { type Gpu, read, temperature } from "../../../../src/view/gpu.ts";
import { Absent } from "../../ui/value.tsx";
import { columns, type FleetColumn } from "./columns.tsx";
import { statisticNames } from "../../../../src/view/range-statistics.ts";
import { momentMs } from "./moment.ts";
import { type StatKey, withNewest } from "./stat-columns.ts";
import { statistics } from "./statistics.ts";

interface Stat {
  readonly key: StatKey;
  readonly label: string;
  readonly unit: Unit;
  readonly now: (gpu: Gpu) => WireValue;
}

const stats: readonly Stat[] = [
  { key: "utilization", label: "Util", unit: "ratio", now: (gpu) => read(gpu, "utilization") },
  { key: "memory", label: "Mem", unit: "bytes", now: (gpu) => read(gpu, "memoryUsed") },
  { key: "power", label: "Power", unit: "watts", now: (gpu) => read(gpu, "power") },
  { key: "temperature", label: "Temp", unit: "celsius", now: temperature },
];

const words = { min: "lowest", avg: "average by time", max: "highest" } as const;

export const rangeColumns: readonly FleetColumn[] = [
  ...columns.filter(({ key }) => key === "gpu"),
  ...stats.flatMap(({ key, label, unit, now }): FleetColumn[] => [
    {
      key,
      label: `${label} ${toColumnQuantity(0, unit).unit}`,
      family: key,
      numeric: true,
      class: "c-stat c-first",
      help: `${label}, now or at the moment shown`,
      cell: (gpu) => <Plain value={now(gpu)} unit={unit} />,
    },
    ...statisticNames.map((name): FleetColumn => ({
      key: `${key}.${name}`,
      label: name,
      says: `${label} ${name}`,
      family: key,
      numeric: true,
      class: `c-stat c-${name}`,
      help: `${label}, ${words[name]} over the range`,
      cell: (gpu) => {
        const values = statistics.value.get(`${key}.${name}`);
        // Unknown before the first result; afterwards a missing value was not read.
        if (values === undefined) return null;
        const own = values.get(gpu.id);
        const isLive = momentMs.value === undefined;
        const shown = own === undefined || !isLive ? own : withNewest(name, own, now(gpu));
        return <Plain value={shown ?? "stale"} unit={unit} />;
      },
    })),
  ]),
  ...columns.filter(({ key }) => key === "state"),
];

/** The unit is in the head, and beside the value if the head has no room. */
function Plain({ value, unit }: { value: WireValue; unit: Unit }) {
  if (typeof value !== "number") return <Absent reason={value} />;
  const shown = toColumnQuantity(value, unit);
  return (
    <>
      {shown.text}
      <span class="unit">{shown.unit}</span>
    </>
  );
}
