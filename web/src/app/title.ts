/** The title of the tab: the current subject, then the program's name. */
import { computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { page } from "../view-state/address.ts";
import { firingCount } from "./alert-badge.tsx";
import { routeOf } from "./routes.ts";

/** The subject of the page, if the page's name alone is too little. */
const announced = signal<string | undefined>(undefined);

export const title = computed(() => announced.value ?? routeOf(page.value)?.label ?? "gpulse");

/** Sets the subject of the page, such as a GPU or a rule. */
export function useTitle(text: string | undefined): void {
  useEffect(() => {
    announced.value = text;
    return () => {
      announced.value = undefined;
    };
  }, [text]);
}

export function startTitle(): void {
  effect(() => {
    const count = firingCount.value ?? 0;
    document.title = `${count === 0 ? "" : `(${count}) `}${title.value} · gpulse`;
  });
}
