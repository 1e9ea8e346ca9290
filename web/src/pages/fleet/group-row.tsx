/** The head of a group in the table: its name, and the group in figures. Folds its GPUs away. */
import { fixed, inColumn, inTotal, written } from "../../format/quantity.ts";
import type { Group } from "./group.ts";
import { summaryOf } from "./group.ts";
import { toggleGroup } from "./view.ts";

interface GroupRowProps {
  readonly group: Group;
  readonly open: boolean;
  readonly index: number;
}

export function GroupRow({ group, open, index }: GroupRowProps) {
  const { count, active, lost, utilizationRatio, powerWatts, hottestCelsius } = summaryOf(group);
  const parts = [
    `${fixed(count, 0)} ${count === 1 ? "GPU" : "GPUs"}`,
    `${fixed(active, 0)} active`,
    utilizationRatio === undefined
      ? ""
      : `${written(inColumn(utilizationRatio, "ratio"))} mean utilisation`,
    powerWatts === undefined ? "" : written(inTotal(powerWatts, "watts")),
    hottestCelsius === undefined ? "" : `up to ${written(inColumn(hottestCelsius, "celsius"))}`,
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
