/** The title of the tab: what is looked at, then the program. */
import { computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { page } from "../view-state/address.ts";
import { firingCount } from "./alert-badge.tsx";
import { routeOf } from "./routes.ts";

/** What the page shows, where its name alone says too little. */
export const announced = signal<string | undefined>(undefined);

export const title = computed(() => announced.value ?? routeOf(page.value)?.label ?? "gpulse");

/** Names what this page shows: a GPU, a rule. */
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
