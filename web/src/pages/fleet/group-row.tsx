/** The header row of a group: its name and totals. Collapses its GPUs. */
import {
  formatFixedPoint,
  toColumnQuantity,
  toTotalQuantity,
  formatWithUnit,
} from "../../format/quantity.ts";
import { hrefOf } from "../../view-state/address.ts";
import { type GpuGroup, type GroupSummary, summarizeGroup } from "./group.ts";
import { by, toggleGroup } from "./view.ts";

/** The totals of the group, without those that none of its GPUs reports. */
export function formatGroupTotals(summary: GroupSummary): readonly string[] {
  const { count, hosts, active, utilizationRatio, powerWatts, hottestCelsius } = summary;
  return [
    `${formatFixedPoint(count, 0)} ${count === 1 ? "GPU" : "GPUs"}`,
    hosts > 1 ? `${formatFixedPoint(hosts, 0)} hosts` : "",
    `${formatFixedPoint(active, 0)} active`,
    utilizationRatio === undefined
      ? ""
      : `${formatWithUnit(toColumnQuantity(utilizationRatio, "ratio"))} mean utilisation`,
    powerWatts === undefined ? "" : formatWithUnit(toTotalQuantity(powerWatts, "watts")),
    hottestCelsius === undefined
      ? ""
      : `up to ${formatWithUnit(toColumnQuantity(hottestCelsius, "celsius"))}`,
  ].filter((part) => part !== "");
}

interface GroupRowProps {
  readonly group: GpuGroup;
  readonly open: boolean;
  readonly index: number;
}

export function GroupRow({ group, open, index }: GroupRowProps) {
  const summary = summarizeGroup(group);
  const { lost } = summary;
  return (
    <tr class="group" aria-rowindex={index}>
      <th scope="rowgroup">
        <div>
          <button type="button" aria-expanded={open} onClick={() => toggleGroup(group.name)}>
            <span class="fold" aria-hidden="true" />
            {group.name}
          </button>
          {by.value === "host" && <a href={hrefOf("host", { host: group.name })}>Host page</a>}
          <span class="unit">{formatGroupTotals(summary).join(" · ")}</span>
          {lost > 0 && <span class="word bad">{lost} not reporting</span>}
        </div>
      </th>
    </tr>
  );
}
