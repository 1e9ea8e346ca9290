/** The user's selections on the fleet page, stored in the address; and the order of the rows, which follows the readings. */
import { computed, effect, signal } from "@preact/signals";
import type { Gpu } from "../../../../src/view/gpu.ts";
import { fleet, hubNowMs } from "../../live/feed.ts";
import { gpuLabels } from "../../query/known-gpus.ts";
import { fleetGpus, isMomentLoaded, momentMs } from "./moment.ts";
import { Param, oneOf, optional, text } from "../../view-state/param.ts";
import { filterGpus } from "./filter.ts";
import { type GpuGroup, groupGpus } from "./group.ts";
import { heatKeys } from "./heat.ts";
import { sortCodec, sortFleet } from "./sort.ts";
import { statistics } from "./statistics.ts";

/** Minimum time between reorderings, because rows that move every second cannot be read. */
const REORDER_MS = 4_000;

export const sort = new Param("sort", sortCodec);
export const filter = new Param("q", text);
export const heat = new Param("heat", oneOf(heatKeys));
/** Id of the GPU whose details are open. */
export const selected = new Param("gpu", optional);
/** Id of the row under the keyboard cursor. */
export const cursor = signal<string | undefined>(undefined);
/** Id of the row to focus as soon as it is drawn. */
export const focusWanted = signal<string | undefined>(undefined);

/** The label that the GPUs are grouped by; empty for one list. */
export const by = new Param("by", text);
/** Current readings with bars and curves, or statistics over the range. */
export const view = new Param("view", oneOf(["now", "range"]));
/** Names of the collapsed groups. */
const closed = signal<ReadonlySet<string>>(new Set());

const order = signal<readonly string[]>([]);

/** The GPUs that pass the filter, in order, with their newest readings. */
const ordered = computed<readonly Gpu[]>(() => {
  const byId = new Map(fleetGpus.value.map((gpu) => [gpu.id, gpu]));
  return order.value.flatMap((id) => byId.get(id) ?? []);
});

/** A single group if there is no grouping. */
export const groups = computed<readonly GpuGroup[]>(() =>
  by.value === ""
    ? [{ name: "", gpus: ordered.value }]
    : groupGpus(ordered.value, by.value, (id) => gpuLabels.value.get(id)),
);

export type FleetItem =
  | { readonly kind: "group"; readonly group: GpuGroup; readonly open: boolean }
  | { readonly kind: "gpu"; readonly gpu: Gpu };

/** The rows of the table: GPUs, with a header row per group. */
export const items = computed<readonly FleetItem[]>(() =>
  groups.value.flatMap((group): FleetItem[] => {
    const open = !closed.value.has(group.name);
    const own = open ? group.gpus.map((gpu): FleetItem => ({ kind: "gpu", gpu })) : [];
    return by.value === "" ? own : [{ kind: "group", group, open }, ...own];
  }),
);

/** The GPUs among the rows. */
export const rows = computed<readonly Gpu[]>(() =>
  items.value.flatMap((item) => (item.kind === "gpu" ? [item.gpu] : [])),
);

export function toggleGroup(name: string): void {
  const next = new Set(closed.peek());
  if (!next.delete(name)) next.add(name);
  closed.value = next;
}

/** Keeps the rows in order while the page is shown; returns a function that stops it. */
export function startOrder(): () => void {
  let [orderedAtMs, orderedBy, orderedWith] = [Number.NEGATIVE_INFINITY, "", statistics.peek()];
  return effect(() => {
    const all = fleetGpus.value;
    const now = JSON.stringify([
      sort.value,
      filter.value,
      momentMs.value,
      isMomentLoaded.value,
      fleet.value?.fleet,
      all.length,
    ]);
    const nowMs = hubNowMs.value;
    const columns = statistics.value;
    const same = now === orderedBy && columns === orderedWith;
    if (same && nowMs - orderedAtMs < REORDER_MS) return;
    [orderedAtMs, orderedBy, orderedWith] = [nowMs, now, columns];
    const wanted = filterGpus(all, filter.value, (id) => gpuLabels.value.get(id));
    order.value = sortFleet(wanted, sort.value, columns).map(({ id }) => id);
  });
}
