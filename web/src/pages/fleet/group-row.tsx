/** The head of a group in the table: its name, and the group in figures. Collapses its GPUs. */
import {
  formatFixedPoint,
  toColumnQuantity,
  toTotalQuantity,
  formatWithUnit,
} from "../../format/quantity.ts";
import { type GpuGroup, summarizeGroup } from "./group.ts";
import { toggleGroup } from "./view.ts";

interface GroupRowProps {
  readonly group: GpuGroup;
  readonly open: boolean;
  readonly index: number;
}

export function GroupRow({ group, open, index }: GroupRowProps) {
  const { count, active, lost, utilizationRatio, powerWatts, hottestCelsius } =
    summarizeGroup(group);
  const parts = [
    `${formatFixedPoint(count, 0)} ${count === 1 ? "GPU" : "GPUs"}`,
    `${formatFixedPoint(active, 0)} active`,
    utilizationRatio === undefined
      ? ""
      : `${formatWithUnit(toColumnQuantity(utilizationRatio, "ratio"))} mean utilisation`,
    powerWatts === undefined ? "" : formatWithUnit(toTotalQuantity(powerWatts, "watts")),
    hottestCelsius === undefined
      ? ""
      : `up to ${formatWithUnit(toColumnQuantity(hottestCelsius, "celsius"))}`,
  ].filter((part) => part !== "");
  return (
    <tr class="group" aria-rowindex={index}>
      <th scope="rowgroup">
        <div>
          <button type="button" aria-expanded={open} onClick={() => toggleGroup(group.name)}>
            <span class="fold" aria-hidden="true" />
            {group.name}
          </button>
          <span class="unit">{parts.join(" · ")}</span>
          {lost > 0 && <span class="word bad">{lost} lost or silent</span>}
        </div>
      </th>
    </tr>
  );
}
