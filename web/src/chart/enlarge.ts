/** Enlarges one chart to the whole window. Stored in the address, so that a link keeps it and the back button leaves it. */
import { useEffect } from "preact/hooks";
import { optional, Param } from "../view-state/param.ts";

const enlarged = new Param("chart", optional, "push");

/** Height of title, legend and margins. */
const AROUND_PX = 220;
const LEAST_PX = 200;

export const enlargedHeightPx = (): number => Math.max(LEAST_PX, innerHeight - AROUND_PX);

/** Enlarges the chart with this title; undefined for none. */
export function enlarge(title: string | undefined): void {
  enlarged.value = title;
}

/** True if the chart with this title is enlarged; Escape closes it. */
export function useEnlarged(title: string): boolean {
  const isEnlarged = enlarged.value === title;
  useEffect(() => {
    if (!isEnlarged) return undefined;
    document.documentElement.dataset["enlarged"] = "";
    const close = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      enlarge(undefined);
    };
    document.addEventListener("keydown", close);
    return () => {
      delete document.documentElement.dataset["enlarged"];
      document.removeEventListener("keydown", close);
    };
  }, [isEnlarged]);
  return isEnlarged;
}
