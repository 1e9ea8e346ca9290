/** The view as it stands in the address bar, so that a link shows what its sender saw. What is at its default is left out. */
import type { Sort, SortKey } from "../fleet/sort.ts";
import { firstSort, sortKeys } from "../fleet/sort.ts";
import type { HeatKey } from "../fleet/heat.ts";
import { heatKeys } from "../fleet/heat.ts";

export interface View {
  readonly sort: Sort;
  readonly filter: string;
  readonly heat: HeatKey;
  /** uuid of the GPU whose details are open. */
  readonly gpu: string | undefined;
}

export function viewFromQuery(query: string): View {
  const given = new URLSearchParams(query);
  const [, minus = "", name = ""] = /^(-?)(.*)$/.exec(given.get("sort") ?? "") ?? [];
  const key = sortKeys.find((known): known is SortKey => known === name);
  return {
    sort: key === undefined ? firstSort : { key, descending: minus === "-" },
    filter: given.get("q") ?? "",
    heat: heatKeys.find((known) => known === given.get("heat")) ?? heatKeys[0],
    gpu: given.get("gpu") ?? undefined,
  };
}

/** Empty, or `?…`. */
export function queryFromView({ sort, filter, heat, gpu }: View): string {
  const query = new URLSearchParams();
  if (sort.key !== firstSort.key || sort.descending)
    query.set("sort", `${sort.descending ? "-" : ""}${sort.key}`);
  if (filter !== "") query.set("q", filter);
  if (heat !== heatKeys[0]) query.set("heat", heat);
  if (gpu !== undefined) query.set("gpu", gpu);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
