/** The keyboard shortcuts of the fleet page. */
import { isTyping, type Shortcut } from "../../app/shortcuts.ts";
import { heatKeys } from "./heat.ts";
import { nextSort, sortKeys } from "./sort.ts";
import { goTo } from "../../view-state/address.ts";
import { cursor, filter, focusWanted, heat, rows, selected, sort, view } from "./view.ts";

export const shortcuts: readonly Shortcut[] = [
  {
    keys: ["/"],
    says: "filter",
    run: () => {
      filterBox()?.focus();
      filterBox()?.select();
    },
  },
  { keys: ["j", "k"], says: "next and previous GPU", run: (key) => move(key === "j" ? 1 : -1) },
  // The name of a row is a button, so that the browser handles Enter.
  { keys: ["Enter"], says: "details of the GPU", run: () => false },
  {
    keys: ["o"],
    says: "all about the GPU",
    run: () => {
      const id = cursor.value ?? selected.value;
      if (id === undefined) return false;
      goTo("gpu", { uuid: id });
      return true;
    },
  },
  {
    keys: ["v"],
    says: "now, or figures over the range",
    run: () => {
      view.value = view.value === "now" ? "range" : "now";
    },
  },
  {
    keys: sortKeys.slice(0, 9).map((_, at) => String(at + 1)),
    shown: ["1", "…", "9"],
    says: "sort by column; again to reverse",
    run: sortByDigit,
  },
  {
    keys: ["m"],
    says: "next reading in the heatmap",
    run: () => {
      heat.value = heatKeys[(heatKeys.indexOf(heat.value) + 1) % heatKeys.length] ?? heatKeys[0];
    },
  },
  {
    keys: ["Escape"],
    says: "close, or clear the filter",
    whileTyping: true,
    run: (_key, event) => escape(isTyping(event) ? event.target : null),
  },
];

function sortByDigit(key: string): boolean {
  const column = sortKeys[Number(key) - 1];
  if (column === undefined) return false;
  sort.value = nextSort(sort.value, column);
  return true;
}

/** Moves the keyboard cursor; the table scrolls to the row and focuses it. */
export function move(by: number): boolean {
  const at = rows.value.findIndex(({ id }) => id === cursor.value);
  const next =
    rows.value[Math.min(rows.value.length - 1, Math.max(0, at + (at === -1 && by < 0 ? 0 : by)))];
  if (next === undefined) return false;
  cursor.value = next.id;
  focusWanted.value = next.id;
  return true;
}

function escape(typingIn: EventTarget | null): boolean {
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
