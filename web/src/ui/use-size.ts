/** The measured width of an element; updates when it changes. */
import { useLayoutEffect, useState } from "preact/hooks";

/** 0 until it is measured. */
export function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const target = element.current;
    if (target === null) return undefined;
    const look = (): void => setWidth(Math.floor(target.clientWidth));
    look();
    const watch = new ResizeObserver(look);
    watch.observe(target);
    return () => watch.disconnect();
  }, [element]);
  return width;
}
