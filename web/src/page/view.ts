/** What the person chose to see: kept in the address bar, or in the browser where it is a taste and not a view. */
import { computed, effect, signal } from "@preact/signals";
import type { HeatKey } from "../fleet/heat.ts";
import { filtered } from "../fleet/filter.ts";
import type { Gpu } from "../fleet/gpu.ts";
import type { Sort } from "../fleet/sort.ts";
import { sorted } from "../fleet/sort.ts";
import { fleet, gpus, hubNowMs } from "./live.ts";
import { queryFromView, viewFromQuery } from "./view-url.ts";

/** Rows that change places every second cannot be read. */
const REORDER_MS = 4_000;

const first = viewFromQuery(location.search);
export const sort = signal<Sort>(first.sort);
export const filter = signal(first.filter);
export const heat = signal<HeatKey>(first.heat);
/** uuid of the GPU whose details are open. */
export const selected = signal<string | undefined>(first.gpu);
/** uuid of the row the keyboard is on. */
export const cursor = signal<string | undefined>(undefined);
/** uuid of the row that shall get the focus as soon as it is drawn. */
export const focusWanted = signal<string | undefined>(undefined);
export const helpOpen = signal(false);

const order = signal<readonly string[]>([]);

/** The rows to show, in order, with their newest readings. */
export const rows = computed<readonly Gpu[]>(() => {
  const byUuid = new Map(gpus.value.map((gpu) => [gpu.device.uuid, gpu]));
  return order.value.flatMap((uuid) => byUuid.get(uuid) ?? []);
});

export function startView(): void {
  let [orderedAtMs, orderedBy] = [Number.NEGATIVE_INFINITY, ""];
  effect(() => {
    const by = JSON.stringify([sort.value, filter.value, fleet.value?.fleet]);
    const all = gpus.value;
    const nowMs = hubNowMs.value;
    if (by === orderedBy && nowMs - orderedAtMs < REORDER_MS) return;
    [orderedAtMs, orderedBy] = [nowMs, by];
    order.value = sorted(filtered(all, filter.value, nowMs), sort.value, nowMs).map(
      ({ device }) => device.uuid,
    );
  });
  effect(() => {
    const query = queryFromView({
      sort: sort.value,
      filter: filter.value,
      heat: heat.value,
      gpu: selected.value,
    });
    if (query !== location.search) history.replaceState(null, "", `${location.pathname}${query}`);
  });
}

export type Theme = "auto" | "light" | "dark";
export type Density = "comfortable" | "compact";

export const theme = signal<Theme>(remembered("gpulse.theme", ["light", "dark"]) ?? "auto");
export const density = signal<Density>(remembered("gpulse.density", ["compact"]) ?? "comfortable");

export function startTastes(): void {
  effect(() => {
    if (theme.value === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
    remember("gpulse.theme", theme.value);
  });
  effect(() => remember("gpulse.density", density.value));
}

function remembered<Value extends string>(key: string, known: readonly Value[]): Value | undefined {
  try {
    const value = localStorage.getItem(key);
    return known.find((one) => one === value);
  } catch {
    return undefined;
  }
}

/** Storage may be switched off; then the choice lasts as long as the page. */
function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    return;
  }
}
