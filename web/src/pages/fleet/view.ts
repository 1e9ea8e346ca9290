/** What the person chose to see of the fleet, kept in the address; and the order of the rows, which follows the readings. */
import { computed, effect, signal } from "@preact/signals";
import type { Gpu } from "../../live/gpu.ts";
import { fleet, gpus, hubNowMs } from "../../live/feed.ts";
import { Param, oneOf, optional, text } from "../../view-state/param.ts";
import { filtered } from "./filter.ts";
import { heatKeys } from "./heat.ts";
import { sortCodec, sorted } from "./sort.ts";

/** Rows that change places every second cannot be read. */
const REORDER_MS = 4_000;

export const sort = new Param("sort", sortCodec);
export const filter = new Param("q", text);
export const heat = new Param("heat", oneOf(heatKeys));
/** uuid of the GPU whose details are open. */
export const selected = new Param("gpu", optional);
/** uuid of the row the keyboard is on. */
export const cursor = signal<string | undefined>(undefined);
/** uuid of the row that shall get the focus as soon as it is drawn. */
export const focusWanted = signal<string | undefined>(undefined);

const order = signal<readonly string[]>([]);

/** The rows to show, in order, with their newest readings. */
export const rows = computed<readonly Gpu[]>(() => {
  const byUuid = new Map(gpus.value.map((gpu) => [gpu.device.uuid, gpu]));
  return order.value.flatMap((uuid) => byUuid.get(uuid) ?? []);
});

/** Keeps the rows in order while the page is shown; gives back what ends it. */
export function startOrder(): () => void {
  let [orderedAtMs, orderedBy] = [Number.NEGATIVE_INFINITY, ""];
  return effect(() => {
    const by = JSON.stringify([sort.value, filter.value, fleet.value?.fleet]);
    const all = gpus.value;
    const nowMs = hubNowMs.value;
    if (by === orderedBy && nowMs - orderedAtMs < REORDER_MS) return;
    [orderedAtMs, orderedBy] = [nowMs, by];
    order.value = sorted(filtered(all, filter.value, nowMs), sort.value, nowMs).map(
      ({ device }) => device.uuid,
    );
  });
}
