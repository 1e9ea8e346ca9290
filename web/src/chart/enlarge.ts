/** One chart over the whole window. Which one is in the address: a link shows it so, and the back button leaves it. */
import { useEffect } from "preact/hooks";
import { optional, Param } from "../view-state/param.ts";

const enlarged = new Param("chart", optional, "push");

/** Room for title, legend and edges. */
const AROUND_PX = 220;
const LEAST_PX = 200;

export const enlargedHeightPx = (): number => Math.max(LEAST_PX, innerHeight - AROUND_PX);

/** The title of the chart to enlarge; undefined for none. */
export function enlarge(title: string | undefined): void {
  enlarged.value = title;
}

/** Whether the chart with this title is enlarged; Escape makes it small again. */
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
