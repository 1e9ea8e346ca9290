/** The keyboard: one table, which the help shows too, so that the two cannot disagree. */
import { nextSort, sortKeys } from "../fleet/sort.ts";
import { heatKeys } from "../fleet/heat.ts";
import {
  cursor,
  density,
  filter,
  focusWanted,
  heat,
  helpOpen,
  rows,
  selected,
  sort,
} from "./view.ts";

export interface KeyHelp {
  readonly keys: readonly string[];
  readonly says: string;
}

export const keyHelp: readonly KeyHelp[] = [
  { keys: ["/"], says: "filter" },
  { keys: ["j", "k"], says: "next and previous GPU" },
  { keys: ["Enter"], says: "details of the GPU" },
  { keys: ["1", "…", "9"], says: "sort by column; again to turn round" },
  { keys: ["m"], says: "next reading in the heatmap" },
  { keys: ["d"], says: "dense rows" },
  { keys: ["Esc"], says: "close, or clear the filter" },
  { keys: ["?"], says: "this help" },
];

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing =
      event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape" && escape(typing ? event.target : null)) event.preventDefault();
    if (!typing && press(event.key)) event.preventDefault();
  });
}

function press(key: string): boolean {
  switch (key) {
    case "/":
      filterBox()?.focus();
      filterBox()?.select();
      return true;
    case "j":
      return move(1);
    case "k":
      return move(-1);
    case "m":
      heat.value = heatKeys[(heatKeys.indexOf(heat.value) + 1) % heatKeys.length] ?? heatKeys[0];
      return true;
    case "d":
      density.value = density.value === "compact" ? "comfortable" : "compact";
      return true;
    case "?":
      helpOpen.value = !helpOpen.value;
      return true;
    default:
      return sortByDigit(key);
  }
}

function sortByDigit(key: string): boolean {
  const column = /^[1-9]$/.test(key) ? sortKeys[Number(key) - 1] : undefined;
  if (column === undefined) return false;
  sort.value = nextSort(sort.value, column);
  return true;
}

/** Moves the keyboard's row; the table scrolls to it and focuses it. */
export function move(by: number): boolean {
  const at = rows.value.findIndex(({ device }) => device.uuid === cursor.value);
  const next =
    rows.value[Math.min(rows.value.length - 1, Math.max(0, at + (at === -1 && by < 0 ? 0 : by)))];
  if (next === undefined) return false;
  cursor.value = next.device.uuid;
  focusWanted.value = next.device.uuid;
  return true;
}

function escape(typingIn: EventTarget | null): boolean {
  if (helpOpen.value) return false;
  if (typingIn instanceof HTMLElement) {
    if (filter.value === "") typingIn.blur();
    filter.value = "";
    return true;
  }
  if (selected.value === undefined && filter.value === "") return false;
  if (selected.value === undefined) filter.value = "";
  else selected.value = undefined;
  return true;
}

const filterBox = (): HTMLInputElement | null =>
  document.querySelector<HTMLInputElement>("#filter");
